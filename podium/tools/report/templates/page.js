// Makes the page live: tabs, charts that share a highlighted team, tables that sort and filter, links that open what is folded.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);
const [state, views] = [{ picked: -1, shown: [] }, []];
const number = (words) => parseFloat(words.replaceAll("−", "-"));

// Charts. Expressions are interpreted (`ast`), so that the page needs no eval; colours are CSS variables of the SVG.
const { config, ...shared } = JSON.parse(one("#shared")?.textContent ?? "{}");
const look = { renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
const options = { mode: "vega-lite", ast: true, config, logLevel: 1, ...look };

// The rows of a chart of cases: the tables of cases have them already. Teams without a value come last in a case.
function cases({ column, higher }) {
  const rows = all("table.cases").flatMap((table) =>
    all("tbody tr", table).map((row, i) => {
      const [cell, spread] = [row.cells[column], ((i * 0.618034) % 1) * 2 - 1];
      const words = { case: one("bdi", row).textContent, status: row.cells[1].textContent, id: row.id };
      return { n: Number(table.dataset.team), value: number(cell.dataset.v ?? cell.textContent), lost: cell.className === "lost", spread, ...words };
    }),
  ).filter((row) => Number.isFinite(row.value));
  const sign = higher ? 1 : -1;
  for (const group of Map.groupBy(rows, (row) => row.case).values()) {
    const better = (a, b) => !a.lost && (b.lost || sign * a.value > sign * b.value);
    for (const row of group) row.rank = 1 + group.filter((other) => better(other, row)).length;
    group.sort((a, b) => sign * (b.value - a.value) || a.n - b.n).forEach((row, i) => (row.place = i + 1));
  }
  return rows;
}

async function draw(figure) {
  const spec = JSON.parse(one("script", figure).textContent);
  for (const [name, columns] of Object.entries(spec.datasets)) {
    const rows = (spec.datasets[name] = []);
    for (const [key, values] of Object.entries(columns)) values.forEach((value, i) => ((rows[i] ??= {})[key] = value));
  }
  if (spec.usermeta) spec.datasets.cases = cases(spec.usermeta);
  const given = spec.params.map((param) => param.name);
  for (const [name, value] of Object.entries(shared)) if (!given.includes(name)) spec.params.push({ name, value });
  const { view } = await vegaEmbed(one(".live", figure), spec, options);
  if (!figure.classList.contains("drawn") && !one(".still", figure).firstChild) one("details", figure).open = false;
  figure.classList.add("drawn");
  view.addEventListener("click", (_, item) => {
    const datum = item?.datum ?? {};
    if (datum.id) location.hash = datum.id;
    pick(datum.n ?? (item?.mark.role?.startsWith("legend") ? datum.value : -1));
  });
  views.push(view);
  apply(view);
}

const apply = (view) => view.signal("picked", state.picked).signal("shown", state.shown).runAsync();

function pick(team) {
  if (one("#pick") === null) return; // the page of one submission
  state.picked = team === state.picked ? -1 : team;
  one("#pick").value = state.picked;
  for (const row of all("tr[data-team], article")) row.classList.toggle("at", Number(row.dataset.team) === state.picked);
  views.forEach(apply);
}

function chooseTeams() {
  const boxes = all("#tools input");
  const chosen = boxes.filter((box) => box.checked).map((box) => Number(box.value));
  state.shown = chosen.length === boxes.length ? [] : chosen.length ? chosen : [-1];
  one("#shown").textContent = `${chosen.length} of ${boxes.length} shown`;
  for (const article of all("article")) article.hidden = !chosen.includes(Number(article.dataset.team));
  search();
  views.forEach(apply);
}

function chooseMetric() {
  const { value, length } = one("#metric");
  for (const figure of all("figure[data-metric]")) figure.hidden = value !== "" && figure.dataset.metric !== value;
  one("#shown-metrics").textContent = `${value ? 1 : length - 1} of ${length - 1} shown`;
}

// Tables. The best comes first, then the worst; rows without a figure stay last.
function sort(table, column, { down }) {
  const words = (row) => row.cells[column].textContent.trim();
  const states = ["failed", "missing", "partial", "scored"];
  const key = (row) => {
    const { v } = row.cells[column].dataset;
    if (v !== undefined) return v === "" ? NaN : Number(v);
    return states.includes(words(row)) ? states.indexOf(words(row)) : number(words(row).replace(/^[<>] /, ""));
  };
  const compare = (a, b) => {
    const [x, y] = [key(a), key(b)];
    const sign = down ? -1 : 1;
    if (Number.isNaN(x) && Number.isNaN(y)) return sign * words(a).localeCompare(words(b), "en", { numeric: true });
    return Number.isNaN(x) - Number.isNaN(y) || sign * (x - y);
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  all("th[aria-sort]", table).forEach((head) => head.removeAttribute("aria-sort"));
  table.tHead.rows[0].cells[column].ariaSort = down ? "descending" : "ascending";
  brackets();
}

function makeSortable(table) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
    const first = head.dataset.best === "high" ? "descending" : "ascending";
    button.addEventListener("click", () => sort(table, column, { down: (head.ariaSort === first) === (first === "ascending") }));
    head.replaceChildren(button);
  }
}

function makeFilterable(table) {
  const [rows, tools] = [[...table.tBodies[0].rows], one("#case-tools").content.cloneNode(true)];
  const [input, button, count] = all("input, button, [role]", tools);
  const filter = () => {
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(input.value.toLowerCase());
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cases shown`;
  };
  input.addEventListener("input", filter);
  button.addEventListener("click", () => sort(table, 1, { down: false }));
  filter();
  table.closest(".frame").before(tools);
}

// The table of teams: found by their names, some of its columns, colours, intervals as bars or figures.
const board = one("table.final");
const strokes = { ł: "l", ø: "o", đ: "d", ı: "i", ß: "ss", æ: "ae", œ: "oe" }; // letters that do not decompose
const simple = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[łøđıßæœ]/g, (letter) => strokes[letter]);

// Brackets join neighbours, as long as these are.
function brackets() {
  const rows = [...(board?.tBodies[0].rows ?? [])];
  board?.classList.toggle("reordered", rows.some((row, n) => row.hidden || Number(row.dataset.team) !== n));
}

function search() {
  const [wanted, rows] = [simple(one("#search")?.value.trim() ?? ""), all("tbody tr", board ?? document.body)];
  const isShown = (team) => !state.shown.length || state.shown.includes(team);
  if (!board) return;
  for (const row of rows) row.hidden = !isShown(Number(row.dataset.team)) || !simple(one(".team", row).title).includes(wanted);
  one("#found").textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} teams` : "";
  brackets();
}

function chooseColumns() {
  const boxes = all("#columns input");
  for (const box of boxes) for (const row of board.rows) row.cells[box.value].hidden = !box.checked;
  const metrics = boxes.filter((box) => "metric" in box.dataset);
  one("#columns [role]").textContent = `${metrics.filter((box) => box.checked).length} of ${metrics.length}`;
  edges();
}

// Shadows where the table goes on.
function edges() {
  const region = one(".region");
  region?.classList.toggle("scrolled", region.scrollLeft > 2);
  region?.parentElement.classList.toggle("right", region.scrollLeft + region.clientWidth < region.scrollWidth - 2);
}

function prepareBoard() {
  const boxes = all("#columns input");
  for (const box of boxes) box.checked = box.defaultChecked; // Firefox keeps what was chosen before a reload
  one("#search").addEventListener("input", search);
  one("#columns").addEventListener("click", ({ target }) => {
    const { set } = target.dataset;
    if (set) for (const box of boxes) if (set === "default" || "metric" in box.dataset) box.checked = set === "default" ? box.defaultChecked : set === "all";
    if (target.matches("button, input")) chooseColumns();
  });
  one("#heat").addEventListener("change", ({ target }) => board.classList.toggle("heat", target.checked));
  one("#intervals")?.addEventListener("change", ({ target }) => {
    for (const kind of ["bars", "plus"]) board.classList.toggle(kind, target.value === kind);
    edges();
  });
  board.addEventListener("click", ({ target }) => {
    const row = target.closest("tbody tr");
    if (row && !target.closest("a") && getSelection().isCollapsed) pick(Number(row.dataset.team));
  });
  one(".region").addEventListener("scroll", edges, { passive: true });
  addEventListener("resize", edges);
  all("th", board)[0].ariaSort = "ascending";
  chooseColumns();
}

// Tabs are links to sections; one is shown at a time. A link to something folded opens it.
function follow() {
  const hash = decodeURIComponent(location.hash.slice(1)).replace(/^stability$/, "certainty"); // as older pages called it
  const target = hash && document.getElementById(hash);
  const section = (target && target.closest("section")) || one("section");
  for (const each of all("section")) each.classList.toggle("on", each === section);
  for (const link of all(".tabs a")) link.hash === `#${section.id}` ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  edges();
  if (!target) return;
  for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  target.hidden = false;
  if (target === section) scrollTo(0, Math.min(scrollY, one("header").offsetHeight));
  else target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
}

if (board) prepareBoard();
document.addEventListener("click", ({ target }) => {
  for (const each of all(".chooser[open]")) each.open = each.contains(target);
});
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") for (const each of all(".chooser[open]")) (each.open = false), one("summary", each).focus();
});
addEventListener("hashchange", follow);
all("table.sortable").forEach(makeSortable);
for (const table of all("table.cases")) {
  const [folded, prepare] = [table.closest("details:not([open])"), () => (makeSortable(table), makeFilterable(table))];
  folded ? folded.addEventListener("toggle", prepare, { once: true }) : prepare();
}
one("#pick")?.addEventListener("change", (event) => pick(Number(event.target.value)));
one("#metric")?.addEventListener("change", chooseMetric);
one("#tools")?.addEventListener("click", ({ target }) => {
  if (target.matches("button")) for (const box of all("#tools input")) box.checked = target.dataset.all === "1";
  if (target.matches("button, input")) chooseTeams();
});
if (all("figure[data-metric]").length > 24) chooseMetric((one("#metric").selectedIndex = 1));
follow();
if (window.vegaEmbed) {
  let queue = Promise.resolve(); // charts are drawn one by one as they come near the window, and then the others, for print
  const ask = (figure) => {
    figure.dataset.asked = "";
    queue = queue.then(() => draw(figure)).then(() => new Promise((next) => setTimeout(next)));
  };
  const isFree = (figure) => !figure.hidden && !("asked" in figure.dataset);
  const watch = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target).filter(isFree).forEach(ask);
    queue.then(() => (document.documentElement.dataset.ready = "")).then(() => figures.filter(isFree).forEach(ask));
  }, { rootMargin: "400px" });
  const figures = all("figure:has(.live)");
  figures.forEach((figure) => watch.observe(figure));
} else document.documentElement.dataset.ready = "";
