// The viewer of a report, in one module with the arena's niivue-viewer.js: image, reference, prediction and errors of a worst case.
// Volumes are in the page, so that it works from a file. One is drawn at a time, because browsers allow few canvases with WebGL.
const COLOURS = { agreed: [62, 209, 165], falsePositive: [255, 79, 216], falseNegative: [61, 123, 255], reference: [230, 159, 0], prediction: [62, 209, 165] };
const [AGREED, FALSE_POSITIVE, FALSE_NEGATIVE, REFERENCE, PREDICTION] = [1, 2, 3, 4, 5]; // codes of the layer over the image
const words = { level: "Level", width: "width", slice_of: "slice {slice} of {slices}", slice_keys: "Arrow keys change the slice, + and - zoom" };

const unpack = async (text) => {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// What is shown of a structure, whose label codes are `region`: one code per voxel.
const layer = (prediction, reference, region, kind) =>
  prediction.map((code, voxel) => {
    const [found, wanted] = [region.includes(code), region.includes(reference[voxel])];
    if (kind === "reference") return wanted ? REFERENCE : 0;
    if (kind === "prediction") return found ? PREDICTION : 0;
    if (kind === "image") return 0;
    return found ? (wanted ? AGREED : FALSE_POSITIVE) : wanted ? FALSE_NEGATIVE : 0;
  });

const open = async (details) => {
  const volume = JSON.parse(details.querySelector("script").textContent);
  const controls = document.querySelector("#viewer").content.cloneNode(true).firstElementChild;
  const find = (name) => controls.querySelector(`[data-${name}]`);
  details.append(controls);
  const [width, height, slices] = volume.size;
  const [windowLow, windowHigh] = volume.window;
  const [lowest, step, all] = volume.axial;
  const number = (axis, place, count) => (axis === 2 ? [lowest + (place - 1) * step, all] : [place, count]); // as below the pictures
  const facts = { number, width, height, slices, bytes: 1, matrix: volume.matrix, valueLow: windowLow, valueHigh: windowHigh, windowLow, windowHigh };
  const voxels = width * height * slices;
  const [image, labels] = await Promise.all([volume.image ? unpack(volume.image) : new Uint8Array(voxels), unpack(volume.labels)]);
  const [prediction, reference] = [labels.slice(0, voxels), labels.slice(voxels)];
  const file = async (header, content) => new Blob([niftiHeader(header), content]).arrayBuffer();
  const label = `${details.closest("figure").querySelector("h3").textContent}, ${volume.title}: image, reference, prediction and errors`;
  const viewer = await drawVolume(controls, { niivue: window.niivue, buffer: await file(facts, image), facts, words, label });

  const codes = { ...facts, valueLow: 0, valueHigh: 255, windowLow: 0, windowHigh: PREDICTION };
  await viewer.loadFromArrayBuffer(await file(codes, new Uint8Array(voxels)), "layer.nii");
  const [over, colours] = [viewer.volumes[1], Object.values(COLOURS)];
  const [R, G, B] = [0, 1, 2].map((channel) => [0, ...colours.map((colour) => colour[channel])]);
  over.setColormapLabel({ R, G, B, A: [0, 110, 190, 190, 150, 150] });
  for (const name of Object.keys(volume.regions)) find("region").append(new Option(name));
  find("region").closest("label").hidden = find("region").length < 2;
  find("part").textContent = volume.part && `Shown: ${volume.part}.`;
  const show = () => {
    over.img.set(layer(prediction, reference, volume.regions[find("region").value], find("layer").value));
    viewer.updateGLVolume();
    find("legend").hidden = find("layer").value !== "errors";
    details.dataset.shown = find("layer").value;
  };
  // To a middle one of the structure's wrong voxels, or of those that agree.
  const look = () => {
    const codes = layer(prediction, reference, volume.regions[find("region").value], "errors");
    const places = (isShown) => [...codes.keys()].filter((voxel) => isShown(codes[voxel]));
    const wrong = places((code) => code > AGREED);
    const shown = wrong.length ? wrong : places((code) => code === AGREED);
    if (!shown.length) return;
    // The slice with most of them, which the picture shows too.
    const bySlice = Object.groupBy(shown, (voxel) => Math.floor(voxel / width / height));
    const most = Object.values(bySlice).reduce((one, other) => (other.length > one.length ? other : one));
    const at = most[most.length >> 1];
    const voxel = [at % width, Math.floor(at / width) % height, Math.floor(at / width / height)];
    viewer.scene.crosshairPos = viewer.mm2frac(volume.matrix.map(([x, y, z, corner]) => x * voxel[0] + y * voxel[1] + z * voxel[2] + corner));
  };
  find("layer").addEventListener("change", show);
  find("region").addEventListener("change", () => (look(), show()));
  look();
  viewer.opts.crosshairWidth = Math.max(...volume.size) / 250; // it is in voxels
  show();
  return viewer;
};

const hasWebGL2 = document.createElement("canvas").getContext("webgl2") !== null;
for (const details of document.querySelectorAll("details.viewer")) {
  if (!hasWebGL2) details.replaceWith(Object.assign(document.createElement("p"), { className: "quiet", textContent: "This browser cannot draw volumes: it has no WebGL2." }));
  let opened = null;
  details.addEventListener("toggle", async () => {
    if (details.open) opened = open(details);
    else {
      const viewer = await opened;
      details.lastElementChild.remove();
      viewer.gl.getExtension("WEBGL_lose_context")?.loseContext();
    }
  });
}
