// Makes the page live: charts that share a highlighted team, tables that sort and filter, links that open what is folded.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);
const state = { picked: -1, shown: [] };
const views = [];
const number = (words) => parseFloat(words.replaceAll("−", "-"));

// Charts. Expressions are interpreted (`ast`), so that the page needs no eval; colours are CSS variables of the SVG.
const { config, ...shared } = JSON.parse(one("#shared")?.textContent ?? "{}");
const options = {
  mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, config, logLevel: 1,
  tooltip: { disableDefaultStyle: true },
};

// The rows of a chart of cases: the tables of cases have them already. Teams without a value come last in a case.
function cases({ column, higher }) {
  const rows = all("table.cases").flatMap((table) =>
    all("tbody tr", table).map((row, i) => {
      const cell = row.cells[column];
      return {
        n: Number(table.dataset.team), case: one("bdi", row).textContent, value: number(cell.textContent), id: row.id,
        lost: cell.className === "lost", status: row.cells[1].textContent, spread: ((i * 0.618034) % 1) * 2 - 1,
      };
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
    const [first, ...others] = Object.entries(columns);
    const rows = (first?.[1] ?? []).map((value) => ({ [first[0]]: value }));
    for (const [key, values] of others) values.forEach((value, i) => (rows[i][key] = value));
    spec.datasets[name] = rows;
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
  if (!one("#pick")) return;
  state.picked = team === state.picked ? -1 : team;
  one("#pick").value = state.picked;
  for (const row of all("tr[data-team]")) row.classList.toggle("at", Number(row.dataset.team) === state.picked);
  views.forEach(apply);
}

function chooseTeams() {
  const boxes = all("#tools input");
  const chosen = boxes.filter((box) => box.checked).map((box) => Number(box.value));
  state.shown = chosen.length === boxes.length ? [] : chosen.length ? chosen : [-1];
  one("#shown").textContent = `${chosen.length} of ${boxes.length} shown`;
  for (const row of all("tr[data-team]")) row.hidden = !chosen.includes(Number(row.dataset.team));
  views.forEach(apply);
}

function chooseMetric(title) {
  for (const figure of all("figure[data-metric]")) figure.hidden = title !== "" && figure.dataset.metric !== title;
}

// Tables.
function sort(table, column, { down }) {
  const words = (row) => row.cells[column].textContent.trim();
  const states = ["failed", "missing", "scored"];
  const key = (row) => (states.includes(words(row)) ? states.indexOf(words(row)) : number(words(row)));
  const compare = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (Number.isNaN(x) && Number.isNaN(y)) return words(a).localeCompare(words(b), "en", { numeric: true });
    return Number.isNaN(x) - Number.isNaN(y) || (down ? y - x : x - y); // what has no figure comes last
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  all("th[aria-sort]", table).forEach((head) => head.removeAttribute("aria-sort"));
  table.tHead.rows[0].cells[column].ariaSort = down ? "descending" : "ascending";
}

function makeSortable(table) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column, { down: head.ariaSort === "ascending" }));
    head.append(button);
  }
}

function makeFilterable(table) {
  const rows = [...table.tBodies[0].rows];
  const tools = one("#case-tools").content.cloneNode(true);
  const [input, button, count] = [one("input", tools), one("button", tools), one("[role]", tools)];
  const filter = () => {
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(input.value.toLowerCase());
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cases shown`;
  };
  input.addEventListener("input", filter);
  button.addEventListener("click", () => sort(table, 1, { down: false }));
  filter();
  table.closest(".frame").before(tools);
}

// A link to something folded opens it.
function follow() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  target.hidden = false;
  target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
}

document.documentElement.classList.add("scripted");
addEventListener("hashchange", follow);
all("table.sortable").forEach(makeSortable);
for (const table of all("table.cases")) {
  const prepare = () => table.rows.length && (makeSortable(table), makeFilterable(table));
  const folded = table.closest("details");
  if (folded && !folded.open) folded.addEventListener("toggle", prepare, { once: true });
  else prepare();
}
one("#pick")?.addEventListener("change", (event) => pick(Number(event.target.value)));
one("#metric")?.addEventListener("change", (event) => chooseMetric(event.target.value));
all("#tools input").forEach((box) => box.addEventListener("change", chooseTeams));
one("#tools")?.addEventListener("click", ({ target }) => {
  if (target.dataset.all === undefined) return;
  for (const box of all("#tools input")) box.checked = target.dataset.all === "1";
  chooseTeams();
});
if (all("figure[data-metric]").length > 24) {
  one("#metric").selectedIndex = 1;
  chooseMetric(one("#metric").value);
}
follow();
if (window.vegaEmbed) {
  let queue = Promise.resolve(); // charts are drawn one by one as they come near the window
  const watch = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      watch.unobserve(target);
      queue = queue.then(() => draw(target)).then(() => new Promise((next) => setTimeout(next)));
    }
    queue.then(() => (document.documentElement.dataset.ready = ""));
  }, { rootMargin: "400px" });
  all("figure:has(.live)").forEach((figure) => watch.observe(figure));
} else document.documentElement.dataset.ready = "";
