// Votes by the keys on the buttons, and no vote by accident. Without this file the buttons still work.
"use strict";
(() => {
  const SETTLING_MS = 350; // the second half of a double click on the last page must not vote on this one
  const SENDING_MS = 5000; // after that a vote may be sent again: the network may have failed
  const form = document.getElementById("vote");
  if (!form) return;
  const buttons = [...form.querySelectorAll("button[data-key]")];
  let sending = false;

  const settle = () => {
    sending = false;
    for (const button of buttons) button.disabled = true;
    setTimeout(() => {
      for (const button of buttons) button.disabled = false;
    }, SETTLING_MS);
  };
  settle();
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) settle();
  });

  form.addEventListener("submit", (event) => {
    if (sending) event.preventDefault();
    else for (const button of buttons) button.setAttribute("aria-pressed", String(button === event.submitter));
    sending = true;
    setTimeout(() => {
      sending = false;
    }, SENDING_MS);
  });

  const isWriting = (target) => target.closest("textarea, select, input:not([type=range], [type=checkbox])") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    const button = buttons.find((one) => one.dataset.key === event.key);
    if (!button || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    button.click();
  });
})();
