// Volumes and meshes drawn by NiiVue: three planes, zoom, pan, presets; jaws that turn and can be switched off. viewer.js loads this where WebGL2 and the library are there,
// and a report's page contains it as text.

const HEADER_BYTES = 352;
const ZOOM_STEP = 1.3;
const REMEMBERED = `arena-view ${document.documentElement.dataset.base}`; // the window and the planes, between matchups

const remembered = () => {
  try {
    return JSON.parse(localStorage.getItem(REMEMBERED)) ?? {};
  } catch {
    return {};
  }
};

const rememberChange = (change) => {
  try {
    localStorage.setItem(REMEMBERED, JSON.stringify({ ...remembered(), ...change }));
  } catch {
    // a browser that stores nothing shows every matchup in its first window
  }
};

// NIfTI-1: unsigned codes of one or two bytes with the scale to the volume's own values. `matrix`: three rows from voxels to mm, to the right, to the front and up.
export const niftiHeader = (facts) => {
  const view = new DataView(new ArrayBuffer(HEADER_BYTES));
  const put = (kind, place, values) => {
    const bytes = kind === "Float32" || kind === "Int32" ? 4 : 2;
    values.forEach((value, index) => view[`set${kind}`](place + index * bytes, value, true));
  };
  const { bytes, matrix } = facts;
  const slope = (facts.valueHigh - facts.valueLow) / (256 ** bytes - 1);
  put("Int32", 0, [348]);
  put("Int16", 40, [3, facts.width, facts.height, facts.slices, 1, 1, 1, 1]);
  put("Int16", 70, [bytes === 1 ? 2 : 512, 8 * bytes]);
  put("Float32", 76, [1, ...[0, 1, 2].map((axis) => Math.hypot(...matrix.map((row) => row[axis]))), 1, 1, 1, 1]);
  put("Float32", 108, [HEADER_BYTES, slope, facts.valueLow]);
  view.setUint8(123, 2); // mm
  put("Float32", 124, [facts.windowHigh, facts.windowLow]);
  put("Int16", 252, [0, 1]); // the matrix below
  put("Float32", 280, matrix.flat());
  put("Int32", 344, [0x00312b6e]); // "n+1"
  return new Uint8Array(view.buffer);
};

// Columns run to the left, rows to the back, slices up.
const axialMatrix = ({ width, height, slices, pixelMm, aspect, sliceMm }) => [
  [-pixelMm, 0, 0, (width * pixelMm) / 2],
  [0, -pixelMm * aspect, 0, (height * pixelMm * aspect) / 2],
  [0, 0, sliceMm, (-slices * sliceMm) / 2],
];

const fetchVolume = async (facts, base, progressed) => {
  const slice = 2 * facts.width * facts.height;
  const file = new Uint8Array(HEADER_BYTES + slice * facts.slices);
  file.set(niftiHeader({ ...facts, bytes: 2, matrix: axialMatrix(facts) }));
  const response = await fetch(`${base}/picture/${facts.key}/volume.u16.gz`);
  if (!response.ok) throw new Error("no volume");
  let end = HEADER_BYTES;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    file.set(part.value, end);
    end += part.value.length;
    progressed(Math.floor((end - HEADER_BYTES) / slice));
  }
  if (end !== file.length) throw new Error("not the whole volume");
  return file.buffer;
};

export const showVolume = async (figure, facts, enlarge) => {
  const { base, library } = document.documentElement.dataset;
  const find = (name) => figure.querySelector(`[data-${name}]`);
  const [niivue, buffer] = await Promise.all([
    import(library),
    fetchVolume(facts, base, (done) => {
      find("count").textContent = `${done} / ${facts.slices}`;
    }),
  ]);
  const told = { words: JSON.parse(figure.dataset.words), label: find("stage").querySelector("svg").getAttribute("aria-label") };
  await drawVolume(figure, { niivue, buffer, facts, ...told, before: remembered(), remember: rememberChange });
  find("advanced").hidden = false;
  find("windowing").hidden = false;
  find("controls").hidden = false;
  enlarge(figure);
  figure.dataset.viewerReady = "niivue";
};

// Draws a NIfTI file into the stage of `figure`, whose buttons and sliders then steer it.
export const drawVolume = async (figure, { niivue, buffer, facts, words, label, before = {}, remember = () => {} }) => {
  const { Niivue, SLICE_TYPE, DRAG_MODE, MULTIPLANAR_TYPE, SHOW_RENDER } = niivue;
  const find = (name) => figure.querySelector(`[data-${name}]`);
  const slider = (name) => figure.querySelector(`[data-slider=${name}]`);
  const stage = find("stage");
  const planes = { all: SLICE_TYPE.MULTIPLANAR, axial: SLICE_TYPE.AXIAL, coronal: SLICE_TYPE.CORONAL, sagittal: SLICE_TYPE.SAGITTAL };
  const axes = { axial: 2, coronal: 1, sagittal: 0 };
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  stage.replaceChildren(canvas);
  const viewer = new Niivue({
    backColor: [0, 0, 0, 1],
    isRadiologicalConvention: true,
    isOrientationTextVisible: true,
    showAllOrientationMarkers: true,
    fontColor: [1, 0.82, 0.25, 1],
    fontMinPx: 18,
    crosshairWidth: 0.4,
    crosshairGap: 12, // nothing lies over what is looked at
    crosshairColor: [0.35, 0.75, 1, 0.7],
    tileMargin: 4,
    dragMode: DRAG_MODE.pan,
    multiplanarLayout: MULTIPLANAR_TYPE.GRID,
    multiplanarShowRender: SHOW_RENDER.ALWAYS, // in 3-D in the fourth quadrant
    loadingText: "",
    logLevel: "silent",
  });
  await viewer.attachToCanvas(canvas);
  await viewer.loadFromArrayBuffer(buffer, "volume.nii");
  const volume = viewer.volumes[0];
  const range = facts.valueHigh - facts.valueLow || 1;
  const state = { plane: "all", low: facts.windowLow, high: facts.windowHigh };

  const say = () => {
    const level = (state.low + state.high) / 2;
    slider("level").value = String(level);
    slider("width").value = String(state.high - state.low);
    const digits = range < 20 ? 2 : 0;
    find("window").textContent = `${words.level} ${level.toFixed(digits)}, ${words.width} ${(state.high - state.low).toFixed(digits)}`;
    for (const button of figure.querySelectorAll("[data-plane]")) {
      button.setAttribute("aria-pressed", String(button.dataset.plane === state.plane));
    }
    for (const button of figure.querySelectorAll("[data-preset]")) {
      const { low = facts.windowLow, high = facts.windowHigh } = button.dataset;
      button.setAttribute("aria-pressed", String(Number(low) === state.low && Number(high) === state.high));
    }
    const axis = axes[state.plane];
    slider("slice").closest(".row").hidden = axis === undefined;
    if (axis !== undefined) {
      const count = volume.dimsRAS[axis + 1];
      const now = Math.round(viewer.scene.crosshairPos[axis] * count + 0.5);
      Object.assign(slider("slice"), { max: String(count), value: String(now) });
      const [shown, all] = facts.number?.(axis, now, count) ?? [now, count];
      const place = words.slice_of.replace("{slice}", shown).replace("{slices}", all);
      slider("slice").setAttribute("aria-valuetext", place);
      find("count").textContent = `${shown} / ${all}`;
    }
    Object.assign(figure.dataset, { plane: state.plane, low: state.low, high: state.high });
  };
  const adjust = (low, high, keep = true) => {
    Object.assign(state, { low, high: Math.max(high, low + range / 1000) });
    Object.assign(volume, { cal_min: state.low, cal_max: state.high });
    viewer.updateGLVolume();
    if (keep) remember({ low: state.low, high: state.high });
    say();
  };
  const turn = (plane) => {
    state.plane = plane in planes ? plane : "all";
    viewer.setSliceType(planes[state.plane]);
    remember({ plane: state.plane });
    say();
  };
  const zoom = (factor) => {
    const [x, y, z, now] = viewer.scene.pan2Dxyzmm;
    viewer.setPan2Dxyzmm(factor ? [x, y, z, Math.min(Math.max(now * factor, 0.5), 20)] : [0, 0, 0, 1]);
  };
  const step = (count) => {
    const move = [0, 0, 0];
    move[axes[state.plane] ?? 2] = count;
    viewer.moveCrosshairInVox(...move);
    say();
  };

  for (const [name, low, high] of [
    ["level", facts.valueLow, facts.valueHigh],
    ["width", range / 1000, range],
  ]) {
    Object.assign(slider(name), { min: String(low), max: String(high), step: "any" });
    slider(name).addEventListener("input", () => {
      const [level, width] = [slider("level").valueAsNumber, slider("width").valueAsNumber];
      adjust(level - width / 2, level + width / 2);
    });
  }
  slider("slice").addEventListener("input", () => {
    const axis = axes[state.plane];
    const place = [...viewer.scene.crosshairPos];
    place[axis] = (slider("slice").valueAsNumber - 0.5) / volume.dimsRAS[axis + 1];
    viewer.scene.crosshairPos = place;
    viewer.drawScene();
    say();
  });
  for (const button of figure.querySelectorAll("[data-plane]")) button.addEventListener("click", () => turn(button.dataset.plane));
  for (const button of figure.querySelectorAll("[data-preset]")) {
    const { low = facts.windowLow, high = facts.windowHigh } = button.dataset;
    button.addEventListener("click", () => adjust(Number(low), Number(high)));
  }
  for (const button of figure.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  find("reset").addEventListener("click", () => {
    zoom(0);
    adjust(facts.windowLow, facts.windowHigh);
  });
  const keys = { ArrowUp: 1, ArrowRight: 1, PageUp: 10, ArrowDown: -1, ArrowLeft: -1, PageDown: -10 };
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", words.slice_keys);
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const act = { "+": () => zoom(ZOOM_STEP), "-": () => zoom(1 / ZOOM_STEP) }[event.key] ?? (keys[event.key] && (() => step(keys[event.key])));
    if (!act) return;
    event.preventDefault();
    act();
  });
  viewer.onLocationChange = say;
  turn(before.plane ?? "all");
  if (Number.isFinite(before.low) && before.high > facts.valueLow && before.low < facts.valueHigh) adjust(before.low, before.high);
  else adjust(state.low, state.high, false);
  return viewer;
};

const TURN_DEGREES = 15;
const VIEWS = { front: [180, 0], above: [180, 90], below: [180, -90], right_side: [90, 0], left_side: [270, 0] }; // azimuth, elevation

// All meshes of a case in the first figure; the others are hidden.
export const showMeshes = async (figures, enlarge) => {
  const { base, library } = document.documentElement.dataset;
  const [figure, ...others] = figures;
  const words = JSON.parse(figure.dataset.words);
  const stage = figure.querySelector("[data-stage]");
  const { Niivue, NVMesh, SLICE_TYPE } = await import(library);
  const buffers = await Promise.all(
    figures.map(async (one) => {
      const response = await fetch(`${base}/picture/${one.dataset.key}/mesh.mz3.gz`);
      if (!response.ok) throw new Error("no mesh");
      return response.arrayBuffer();
    }),
  );
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", stage.querySelector("img").alt);
  stage.replaceChildren(canvas);
  const viewer = new Niivue({ backColor: [0, 0, 0, 1], show3Dcrosshair: false, isOrientCube: false, loadingText: "", logLevel: "silent" });
  await viewer.attachToCanvas(canvas);
  viewer.setSliceType(SLICE_TYPE.RENDER);
  for (const [index, buffer] of buffers.entries()) {
    const mesh = await NVMesh.readMesh(buffer, `${index}.mz3`, viewer.gl, 1, new Uint8Array([226, 214, 196, 255]));
    viewer.addMesh(mesh);
  }
  const views = new Map();
  const say = () => {
    const { renderAzimuth, renderElevation } = viewer.scene;
    figure.dataset.azimuth = String(renderAzimuth);
    for (const [button, [azimuth, elevation]] of views) {
      button.setAttribute("aria-pressed", String(azimuth === renderAzimuth && elevation === renderElevation));
    }
  };
  const draw = () => {
    viewer.drawScene();
    say();
  };
  const look = (azimuth, elevation) => {
    viewer.setRenderAzimuthElevation(azimuth, elevation);
    draw();
  };
  const zoom = (factor) => {
    viewer.setScale(Math.min(Math.max(viewer.scene.volScaleMultiplier * factor, 0.3), 8));
    draw();
  };

  const parts = figure.querySelector("[data-parts]");
  const add = (text, act) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "plain", textContent: text });
    button.addEventListener("click", act);
    parts.append(button);
    return button;
  };
  for (const [index, one] of figures.entries()) {
    const numbered = figures.filter((other) => other.dataset.part === one.dataset.part).length > 1 ? ` ${index + 1}` : "";
    const button = add(words[one.dataset.part] + numbered, () => {
      const mesh = viewer.meshes[index];
      viewer.setMeshProperty(mesh.id, "visible", !mesh.visible);
      button.setAttribute("aria-pressed", String(mesh.visible));
      draw();
    });
    button.setAttribute("aria-pressed", "true");
  }
  for (const [name, view] of Object.entries(VIEWS)) views.set(add(words[name], () => look(...view)), view);
  stage.addEventListener("pointerup", say);
  const keys = { ArrowLeft: [TURN_DEGREES, 0], ArrowRight: [-TURN_DEGREES, 0], ArrowUp: [0, TURN_DEGREES], ArrowDown: [0, -TURN_DEGREES] };
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", words.mesh_keys);
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const turned = keys[event.key];
    if (turned) look(viewer.scene.renderAzimuth + turned[0], viewer.scene.renderElevation + turned[1]);
    else if (event.key === "+") zoom(ZOOM_STEP);
    else if (event.key === "-") zoom(1 / ZOOM_STEP);
    else return;
    event.preventDefault();
  });
  for (const other of others) other.hidden = true;
  figure.querySelector("[data-turning]").hidden = true;
  figure.querySelector(".part").hidden = true;
  figure.querySelector("[data-controls]").hidden = false;
  enlarge(figure);
  look(...VIEWS.front);
  figure.dataset.viewerReady = "niivue";
};
