// Images of a case: volumes as slices with window and level, pictures enlarged on a click.
// Without this file the page shows the same slices as plain pictures with links.
"use strict";
(() => {
  const CACHE_BYTES = 150e6; // decoded slices of all volumes together
  const FEWEST = 25; // slices kept, however large they are
  const CONNECTIONS = 4; // a browser opens six to a server: two stay free for the vote
  const LEVELS = 65536;
  const NOTCH_PX = 50; // of wheel movement per slice

  document.documentElement.classList.add("with-script");
  const base = document.documentElement.dataset.base; // the path below which a reverse proxy shows the arena

  // The slices of one volume: those next to the one on show first, then all the others while there is room.
  class Slices {
    constructor({ key, count, pixels, budget }, arrived) {
      Object.assign(this, { key, count, pixels, arrived });
      this.room = Math.max(FEWEST, Math.floor(budget / (2 * pixels)));
      this.kept = new Map();
      this.wanted = new Set();
      this.failed = new Map();
      this.centre = 0;
    }

    get(slice) {
      return this.kept.get(slice);
    }

    moveTo(slice) {
      this.centre = slice;
      this.fill();
    }

    // Outwards from the slice on show; what is further away than there is room for is not fetched.
    next() {
      for (let distance = 0; distance < this.room / 2 || this.room >= this.count; distance += 1) {
        if (this.centre - distance < 0 && this.centre + distance >= this.count) return -1;
        for (const slice of [this.centre + distance, this.centre - distance]) {
          const known = this.kept.has(slice) || this.wanted.has(slice) || (this.failed.get(slice) ?? 0) > 2;
          if (slice >= 0 && slice < this.count && !known) return slice;
        }
      }
      return -1;
    }

    fill() {
      while (this.wanted.size < CONNECTIONS) {
        const slice = this.next();
        if (slice < 0) return;
        this.wanted.add(slice);
        this.fetch(slice).finally(() => {
          this.wanted.delete(slice);
          this.fill();
        });
      }
    }

    async fetch(slice) {
      try {
        const response = await fetch(`${base}/picture/${this.key}/${slice}.u16.gz`);
        const values = new Uint16Array(await response.arrayBuffer());
        if (!response.ok || values.length !== this.pixels) throw new Error("not a slice");
        this.keep(slice, values);
        this.arrived(slice);
      } catch {
        this.failed.set(slice, (this.failed.get(slice) ?? 0) + 1);
      }
    }

    keep(slice, values) {
      this.kept.set(slice, values);
      while (this.kept.size > this.room) {
        let furthest = slice;
        for (const one of this.kept.keys()) {
          if (Math.abs(one - this.centre) > Math.abs(furthest - this.centre)) furthest = one;
        }
        this.kept.delete(furthest);
      }
    }
  }

  // One grey value for each of the 65,536 stored ones, as the four bytes of a pixel.
  const fillTable = (table, facts, low, high) => {
    const scale = (facts.valueHigh - facts.valueLow) / (LEVELS - 1);
    const slope = 255 / Math.max(high - low, Number.MIN_VALUE);
    for (let stored = 0; stored < LEVELS; stored += 1) {
      const grey = Math.max(0, Math.min(255, Math.round((facts.valueLow + stored * scale - low) * slope)));
      table[stored] = 0xff000000 | (grey << 16) | (grey << 8) | grey;
    }
  };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const figuresOf = (data) => {
    const facts = { key: data.key };
    for (const name of ["slices", "slice", "width", "height", "aspect", "pixelMm", "sliceMm", "valueLow", "valueHigh", "windowLow", "windowHigh"]) {
      facts[name] = Number(data[name]);
    }
    return facts;
  };

  const setUpVolume = (figure, budget) => {
    const facts = figuresOf(figure.dataset);
    const words = JSON.parse(figure.dataset.words);
    const find = (name) => figure.querySelector(`[data-${name}]`);
    const slider = (name) => figure.querySelector(`[data-slider=${name}]`);
    const stage = find("stage");
    const canvas = document.createElement("canvas");
    canvas.width = facts.width;
    canvas.height = facts.height;
    canvas.style.setProperty("--ratio", String(facts.width / (facts.height * facts.aspect)));
    canvas.setAttribute("role", "img");
    const context = canvas.getContext("2d", { alpha: false });
    const image = context.createImageData(facts.width, facts.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = new Uint32Array(LEVELS);
    const range = facts.valueHigh - facts.valueLow || 1;
    const preset = { level: (facts.windowLow + facts.windowHigh) / 2, width: facts.windowHigh - facts.windowLow || range };
    const view = { slice: facts.slice - 1, ...preset };
    const drawn = { slice: -1, level: NaN, width: NaN };
    let waiting = false;

    const draw = () => {
      waiting = false;
      const values = slices.get(view.slice);
      const windowed = drawn.level !== view.level || drawn.width !== view.width;
      if (!values || (drawn.slice === view.slice && !windowed)) return;
      if (windowed) fillTable(table, facts, view.level - view.width / 2, view.level + view.width / 2);
      for (let place = 0; place < pixels.length; place += 1) pixels[place] = table[values[place]];
      context.putImageData(image, 0, 0);
      Object.assign(drawn, view);
      if (!canvas.isConnected) stage.replaceChildren(canvas);
      figure.dataset.drawn = String(view.slice + 1);
    };
    const redraw = () => {
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    };
    const slices = new Slices(
      { key: facts.key, count: facts.slices, pixels: facts.width * facts.height, budget },
      (slice) => slice === view.slice && redraw(),
    );

    const digits = range < 20 ? 2 : 0;
    const say = () => {
      const place = words.slice_of.replace("{slice}", view.slice + 1).replace("{slices}", facts.slices);
      slider("slice").value = String(view.slice + 1);
      slider("slice").setAttribute("aria-valuetext", place);
      canvas.setAttribute("aria-label", place);
      find("count").textContent = `${view.slice + 1} / ${facts.slices}`;
      slider("level").value = String(view.level);
      slider("width").value = String(view.width);
      find("window").textContent = `${words.level} ${view.level.toFixed(digits)}, ${words.width} ${view.width.toFixed(digits)}`;
    };
    const show = (slice) => {
      view.slice = clamp(slice, 0, facts.slices - 1);
      say();
      slices.moveTo(view.slice);
      redraw();
    };
    const adjust = (level, width) => {
      view.level = clamp(level, facts.valueLow, facts.valueHigh);
      view.width = clamp(width, range / 1000, range);
      say();
      redraw();
    };

    for (const [name, low, high] of [
      ["level", facts.valueLow, facts.valueHigh],
      ["width", range / 1000, range],
    ]) {
      Object.assign(slider(name), { min: String(low), max: String(high), step: "any" });
    }
    slider("slice").addEventListener("input", () => show(slider("slice").valueAsNumber - 1));
    slider("level").addEventListener("input", () => adjust(slider("level").valueAsNumber, view.width));
    slider("width").addEventListener("input", () => adjust(view.level, slider("width").valueAsNumber));
    find("reset").addEventListener("click", () => adjust(preset.level, preset.width));

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
        if (steps) show(view.slice + steps);
      },
      { passive: false },
    );

    const moves = {
      ArrowUp: () => view.slice - 1,
      ArrowLeft: () => view.slice - 1,
      ArrowDown: () => view.slice + 1,
      ArrowRight: () => view.slice + 1,
      PageUp: () => view.slice - 10,
      PageDown: () => view.slice + 10,
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

    // Right button, or any pointer while dragging is switched on: sideways the width, up and down the level.
    let dragging = false;
    find("drag").addEventListener("click", () => {
      dragging = !dragging;
      find("drag").setAttribute("aria-pressed", String(dragging));
      stage.classList.toggle("dragging", dragging);
    });
    let held = null;
    stage.addEventListener("contextmenu", (event) => event.preventDefault());
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 2 && !(dragging && event.button === 0)) return;
      stage.setPointerCapture(event.pointerId);
      held = { x: event.clientX, y: event.clientY, level: view.level, width: view.width };
    });
    stage.addEventListener("pointermove", (event) => {
      if (!held) return;
      const unit = Math.max(held.width, range / 200) / 300;
      adjust(held.level + (event.clientY - held.y) * unit, held.width + (event.clientX - held.x) * unit);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      stage.addEventListener(name, () => {
        held = null;
      });
    }

    setUpEnlarging(figure);
    find("controls").hidden = false;
    show(view.slice);
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
  const setUp = async (figure, budget) => {
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
    setUpVolume(figure, budget);
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

  document.addEventListener("DOMContentLoaded", () => {
    const volumes = document.querySelectorAll("[data-viewer]");
    for (const figure of volumes) setUp(figure, CACHE_BYTES / volumes.length);
    setUpMeshes([...document.querySelectorAll("[data-mesh]")]);
    [...document.querySelectorAll("[data-picture]")].forEach(setUpPicture);
  });
})();
