// Images of a case: volumes and meshes by NiiVue or else as plain pictures with a slider, photographs enlarged on a click.
// Without this file the page shows the same slices as plain pictures with links.
"use strict";
(() => {
  const NOTCH_PX = 50; // of wheel movement per slice
  const AHEAD = 3; // slices fetched before they are asked for, each way

  document.documentElement.classList.add("with-script");
  const base = document.documentElement.dataset.base; // the path below which a reverse proxy shows the arena

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const figuresOf = (data) => {
    const facts = { key: data.key };
    for (const name of ["slices", "slice", "width", "height", "aspect", "pixelMm", "sliceMm", "valueLow", "valueHigh", "windowLow", "windowHigh"]) {
      facts[name] = Number(data[name]);
    }
    return facts;
  };

  // A volume where NiiVue cannot draw: one slice at a time, as the server has windowed it.
  const setUpSlices = (figure, picture) => {
    const facts = figuresOf(figure.dataset);
    const words = JSON.parse(figure.dataset.words);
    const find = (name) => figure.querySelector(`[data-${name}]`);
    const slider = figure.querySelector("[data-slider=slice]");
    const stage = find("stage");
    const image = picture.querySelector("image");
    let now = facts.slice - 1;

    const fetched = async (slice) => {
      const one = new Image();
      one.src = `${base}/picture/${facts.key}/${slice}.png`;
      await one.decode();
      return one.src;
    };
    const show = async (slice) => {
      now = clamp(slice, 0, facts.slices - 1);
      const wanted = now;
      const place = words.slice_of.replace("{slice}", now + 1).replace("{slices}", facts.slices);
      slider.value = String(now + 1);
      slider.setAttribute("aria-valuetext", place);
      find("count").textContent = `${now + 1} / ${facts.slices}`;
      try {
        const address = await fetched(wanted);
        if (wanted !== now) return;
        image.setAttribute("href", address);
        picture.setAttribute("aria-label", place);
        figure.dataset.drawn = String(now + 1);
        for (let step = 1; step <= AHEAD; step += 1) {
          for (const next of [now + step, now - step]) if (next >= 0 && next < facts.slices) fetched(next).catch(() => {});
        }
      } catch {
        // the slice before it stays; the slider asks again
      }
    };
    slider.addEventListener("input", () => show(slider.valueAsNumber - 1));

    let rolled = 0;
    stage.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey) return; // the browser's own zoom
        event.preventDefault();
        const pixelsRolled = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * NOTCH_PX;
        // A mouse wheel's notch is one slice, however large; a touchpad's small movements add up.
        rolled += clamp(pixelsRolled, -NOTCH_PX, NOTCH_PX);
        const steps = Math.trunc(rolled / NOTCH_PX);
        rolled -= steps * NOTCH_PX;
        if (steps) show(now + steps);
      },
      { passive: false },
    );

    const moves = {
      ArrowUp: () => now - 1,
      ArrowLeft: () => now - 1,
      ArrowDown: () => now + 1,
      ArrowRight: () => now + 1,
      PageUp: () => now - 10,
      PageDown: () => now + 10,
      Home: () => 0,
      End: () => facts.slices - 1,
    };
    stage.tabIndex = 0;
    stage.setAttribute("role", "group");
    stage.setAttribute("aria-label", words.slice_keys);
    stage.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      show(move());
    });

    stage.replaceChildren(picture);
    setUpEnlarging(figure);
    find("controls").hidden = false;
    show(now);
  };

  // The case takes most of the screen; both reports and the buttons stay beside it.
  const setUpEnlarging = (figure) => {
    const words = JSON.parse(figure.dataset.words);
    const enlarge = figure.querySelector("[data-enlarge]");
    const setLarge = (large) => {
      figure.classList.toggle("large", large);
      document.body.classList.toggle("beside", large);
      enlarge.setAttribute("aria-pressed", String(large));
      enlarge.textContent = large ? words.close : words.enlarge;
      if (large) document.documentElement.requestFullscreen?.().catch(() => {});
      else if (document.fullscreenElement) document.exitFullscreen();
    };
    enlarge.addEventListener("click", () => setLarge(!figure.classList.contains("large")));
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement && figure.classList.contains("large")) setLarge(false);
    });
    figure.addEventListener("keydown", (event) => {
      if (event.key === "Escape") setLarge(false);
    });
  };

  // A mesh as pictures from all around; those of a case together where NiiVue draws them.
  const setUpViews = (figure) => {
    const slider = figure.querySelector("[data-slider=slice]");
    const image = figure.querySelector("img");
    slider.addEventListener("input", () => {
      image.src = `${base}/picture/${figure.dataset.key}/${slider.valueAsNumber - 1}.png`;
    });
    setUpEnlarging(figure);
    figure.querySelector("[data-controls]").hidden = false;
  };

  const setUpMeshes = async (figures) => {
    const { library, upgrade } = document.documentElement.dataset;
    if (library && figures.length && hasWebGL2()) {
      try {
        const { showMeshes } = await import(upgrade);
        await showMeshes(figures, setUpEnlarging);
        return;
      } catch (error) {
        console.info("The mesh is shown as pictures:", error);
      }
    }
    for (const figure of figures) setUpViews(figure);
  };

  const hasWebGL2 = () => document.createElement("canvas").getContext("webgl2") !== null;

  // NiiVue where the browser can draw with it, else the slices.
  const setUp = async (figure) => {
    const picture = figure.querySelector("[data-stage] svg");
    const { library, upgrade } = document.documentElement.dataset;
    if (library && hasWebGL2()) {
      try {
        const { showVolume } = await import(upgrade);
        await showVolume(figure, figuresOf(figure.dataset), setUpEnlarging);
        return;
      } catch (error) {
        console.info("The volume is shown as slices:", error);
      }
    }
    setUpSlices(figure, picture);
  };

  // Photographs: the whole one first, then as large as wanted; the next one without closing.
  const setUpPicture = (figure, place, figures) => {
    const words = JSON.parse(figure.dataset.words);
    const links = figures.map((one) => one.querySelector("a"));
    links[place].addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const dialog = document.createElement("dialog");
      const image = document.createElement("img");
      const bar = document.createElement("div");
      let now = place;
      let zoom = 1;
      const resize = (factor) => {
        zoom = factor ? clamp(zoom * factor, 1, 16) : 1;
        image.style.setProperty("--zoom", String(zoom));
        dialog.dataset.zoom = String(zoom);
      };
      const show = (step) => {
        now = (now + step + links.length) % links.length;
        image.src = links[now].href;
        image.alt = links[now].querySelector("img").alt;
        resize(0);
      };
      const add = (text, label, act) => {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: text });
        button.setAttribute("aria-label", label);
        button.addEventListener("click", act);
        bar.append(button);
      };
      if (links.length > 1) add("‹", words.previous, () => show(-1));
      if (links.length > 1) add("›", words.next, () => show(1));
      add("−", words.zoom_out, () => resize(1 / 1.5));
      add("+", words.zoom_in, () => resize(1.5));
      add(words.close, words.close, () => dialog.close());
      bar.className = "bar";
      dialog.setAttribute("aria-label", words.image_of_the_case);
      dialog.append(image, bar);
      image.addEventListener("click", () => resize(zoom > 1 ? 0 : 2));
      dialog.addEventListener(
        "wheel",
        (rolled) => {
          rolled.preventDefault();
          resize(rolled.deltaY < 0 ? 1.2 : 1 / 1.2);
        },
        { passive: false },
      );
      dialog.addEventListener("keydown", (pressed) => {
        const act = { "+": () => resize(1.5), "-": () => resize(1 / 1.5), ArrowLeft: () => show(-1), ArrowRight: () => show(1) }[pressed.key];
        if (!act || (zoom > 1 && pressed.key.startsWith("Arrow"))) return;
        pressed.preventDefault();
        act();
      });
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      show(0);
      dialog.showModal();
    });
  };

  // The next case, once this one is shown: the browser keeps it until its page asks for it.
  const fetchUpcoming = async () => {
    const { library } = document.documentElement.dataset;
    const addresses = document.querySelector("main").dataset.upcoming.split(" ").filter(Boolean);
    for (const address of addresses) {
      if (address.endsWith(".gz") && !(library && hasWebGL2())) continue;
      const response = await fetch(address, { priority: "low" });
      await response.body.pipeTo(new WritableStream()); // nothing of it stays in memory
    }
    document.body.dataset.upcoming = "fetched";
  };

  document.addEventListener("DOMContentLoaded", async () => {
    [...document.querySelectorAll("[data-picture]")].forEach(setUpPicture);
    await Promise.all([...document.querySelectorAll("[data-viewer]")].map(setUp));
    await setUpMeshes([...document.querySelectorAll("[data-mesh]")]);
    await fetchUpcoming().catch(() => {});
  });
})();
