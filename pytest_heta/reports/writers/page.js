"use strict";
// The table of cases: which result, which metric, which cases, in which order. Foreign text goes into the page through
// textContent only, so that nothing in it can become markup.
(async () => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const data = await unpack(byId("data").textContent);
  const view = { sort: "order", down: false, page: 0, open: new Set() };
  const KINDS = {
    "all cases": () => true,
    "finished": (row) => row.status === "finished",
    "errored": (row) => row.status === "errored",
    "not run": (row) => row.status === "not_run",
    "unscored": (row) => row.status === "finished" && row.score === null,
    "score 0": (row) => row.score === 0,
    "no gold found": (row) => row.case.gold && row.status === "finished" && row.rank === null,
  };
  const PAIR_KINDS = {
    "wins": (row) => row.difference > 0,
    "ties": (row) => row.difference === 0,
    "losses": (row) => row.difference < 0,
  };
  const COLUMNS = [
    { key: "order", title: "case", text: (row) => row.case.id },
    { key: "query", title: "query", className: "text", text: (row) => row.case.query || "" },
    { key: "status", title: "status", text: (row) => row.status.replace("_", " ") },
    { key: "score", title: "score", className: "number", text: (row) => decimals(row.score) },
    { key: "other", title: "against", className: "number", pair: true, text: (row) => decimals(row.other) },
    { key: "difference", title: "difference", className: "number", pair: true, text: (row) => signed(row.difference) },
    { key: "rank", title: "first gold", className: "number", text: (row) => String(row.rank ?? "") },
    { key: "ms", title: "ms", className: "number", text: (row) => (row.ms === null ? "" : row.ms.toPrecision(3)) },
  ];
  const paired = data.entrants.length > 1;
  const columns = COLUMNS.filter((column) => paired || !column.pair);
  let rows = [];

  fill("shown", data.entrants);
  fill("against", data.entrants);
  fill("metric", data.metrics);
  fill("kind", Object.keys(paired ? { ...KINDS, ...PAIR_KINDS } : KINDS), (name) => name);
  const slices = [...new Set(data.cases.flatMap((one) => one.slices || []))].sort();
  fill("slice", ["all", ...slices], (name) => (name === "all" ? "" : name));
  byId("metric").value = data.headline;
  byId("against").value = paired ? 1 : 0;
  for (const part of document.querySelectorAll(".pair")) part.hidden = !paired;
  document.querySelector(".sliced").hidden = slices.length === 0;
  makeHead();
  listen();
  byId("cases").hidden = false;
  load();

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  function fill(id, names, value = (name, place) => place) {
    names.forEach((name, place) => byId(id).append(new Option(name, value(name, place))));
  }

  function make(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function decimals(value) {
    return value === null ? "" : value.toFixed(4);
  }

  function signed(value) {
    return value === null ? "" : (value > 0 ? "+" : "") + value.toFixed(4);
  }

  // What a case adds to the mean: its score; 0 where it errored or its evaluator did; nothing where it was not run.
  function counted(result, metric) {
    if (!result || result.status === "not_run") return null;
    return result.status === "errored" ? 0 : result.scores[metric];
  }

  // Make a row of each case for the chosen result, metric and opponent.
  function load() {
    const [shown, against, metric] = ["shown", "against", "metric"].map((id) => Number(byId(id).value));
    rows = data.cases.map((one, order) => {
      const result = data.results[shown][order];
      const score = counted(result, metric);
      const other = paired ? counted(data.results[against][order], metric) : null;
      return {
        order, case: one, result, score, other,
        query: one.query || "",
        status: result ? result.status || "finished" : "absent",
        difference: score === null || other === null ? null : Math.round((score - other) * 1e4) / 1e4,
        rank: result?.ranks?.[0] ?? null,
        ms: result?.ms ?? null,
      };
    });
    for (const name of document.querySelectorAll("#table th[data-key=score] button")) {
      name.textContent = data.metrics[metric];
    }
    if (paired) drawDifferences(shown, against, metric);
    show();
  }

  function chosen() {
    const kind = { ...KINDS, ...PAIR_KINDS }[byId("kind").value];
    const slice = byId("slice").value;
    const words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => {
      const text = `${row.case.id} ${row.query}`.toLowerCase();
      return kind(row) && (!slice || (row.case.slices || []).includes(slice)) && words.every((word) => text.includes(word));
    });
    const sign = view.down ? -1 : 1;
    return found.sort((a, b) => compare(a[view.sort], b[view.sort], sign) || a.order - b.order);
  }

  // What has no value comes last, whichever way the rest is sorted.
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
  }

  function show() {
    const found = chosen();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    view.page = Math.min(view.page, pages - 1);
    const from = view.page * PAGE;
    byId("count").textContent = `${found.length} of ${rows.length} cases`;
    document.querySelector("#table tbody").replaceChildren(...found.slice(from, from + PAGE).flatMap(makeRow));
    document.querySelector("#pages span").textContent = `page ${view.page + 1} of ${pages}`;
    byId("previous").disabled = view.page === 0;
    byId("next").disabled = view.page === pages - 1;
    byId("pages").hidden = pages === 1;
    for (const head of document.querySelectorAll("#table th")) {
      const state = head.dataset.key !== view.sort ? "none" : view.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", state);
    }
  }

  function makeHead() {
    for (const column of columns) {
      const head = make("th", null, column.className);
      head.dataset.key = column.key;
      head.scope = "col";
      const button = make("button", column.title);
      button.type = "button";
      button.addEventListener("click", () => sortBy(column));
      head.append(button);
      document.querySelector("#table thead tr").append(head);
    }
  }

  function sortBy(column) {
    view.down = view.sort === column.key ? !view.down : false;
    view.sort = column.key;
    view.page = 0;
    show();
  }

  function makeRow(row) {
    const line = make("tr");
    columns.forEach((column, place) => {
      const cell = make("td", place ? column.text(row) : null, column.className);
      if (!place) cell.append(opener(row, column.text(row)));
      line.append(cell);
    });
    if (row.status === "errored") line.children[2].className = "bad";
    line.addEventListener("click", () => {
      if (String(getSelection()) === "") toggle(row);
    });
    return view.open.has(row.order) ? [line, makeDetail(row)] : [line];
  }

  function opener(row, text) {
    const button = make("button", text, "open");
    button.type = "button";
    button.dataset.order = row.order;
    button.setAttribute("aria-expanded", view.open.has(row.order));
    return button;
  }

  function toggle(row) {
    if (!view.open.delete(row.order)) view.open.add(row.order);
    show();
    document.querySelector(`.open[data-order="${row.order}"]`)?.focus();
  }

  function makeDetail(row) {
    const line = make("tr", null, "detail");
    const cell = make("td");
    cell.colSpan = columns.length;
    line.append(cell);
    const facts = Object.entries(row.case.labels || {}).map(([name, value]) => `${name}: ${value}`);
    if (row.case.unit) facts.unshift(`run unit: ${row.case.unit}`);
    cell.append(make("div", facts.join(" · "), "dim"));
    if (row.case.gold) cell.append(make("h3", "expected"), goldList(row.case.gold));
    const results = paired ? [Number(byId("shown").value), Number(byId("against").value)] : [0];
    const sides = make("div", null, "sides");
    sides.append(...[...new Set(results)].map((entrant) => makeResult(entrant, data.results[entrant][row.order])));
    cell.append(sides);
    return line;
  }

  function goldList(gold) {
    const list = make("ul");
    for (const [id, relevance, text] of gold) {
      const item = make("li", (id || "a text") + (relevance === 1 ? "" : ` (relevance ${relevance})`));
      if (text) item.append(make("blockquote", text));
      list.append(item);
    }
    return list;
  }

  function makeResult(entrant, result) {
    const cell = make("div");
    cell.append(make("h3", data.entrants[entrant]));
    if (!result) {
      cell.append(make("div", "this case is not part of it", "dim"));
      return cell;
    }
    if (result.error) cell.append(make("div", result.error, "bad"));
    if (result.status === "not_run") cell.append(make("div", "was not run", "bad"));
    if (result.unscored) cell.append(make("div", `unscored: ${result.unscored}`, "dim"));
    if (result.answer) cell.append(make("div", `answer: ${result.answer}`));
    if (result.ranks) cell.append(make("div", `expected documents at rank ${result.ranks.join(", ")}`));
    if (result.shallow) cell.append(make("div", "fewer documents than the deepest metric looks at", "dim"));
    const scores = make("div", null, "scores");
    result.scores.forEach((value, metric) => {
      if (value !== null) scores.append(make("span", `${data.metrics[metric]} ${decimals(value)}`));
    });
    cell.append(scores, hitList(result));
    if (result.node) cell.append(make("div", result.node, "dim"));
    return cell;
  }

  function hitList(result) {
    const hits = result.hits || [];
    const list = make("ol");
    for (const [id, isGold, score, text] of hits) {
      const item = make("li", `${id}${score === null ? "" : `  ${score}`}${isGold ? "  ← expected" : ""}`, isGold ? "gold" : "");
      if (text) item.append(make("blockquote", text));
      list.append(item);
    }
    const more = (result.count || 0) - hits.length;
    if (more > 0) list.append(make("div", `and ${more} more hits`, "dim"));
    return list;
  }

  // One bar a case, from the greatest gain to the greatest loss; many cases share a column of the picture.
  function drawDifferences(shown, against, metric) {
    const values = rows.map((row) => row.difference).filter((value) => value !== null).sort((a, b) => b - a);
    const [width, height, left] = [960, 180, 50];
    const top = Math.max(...values.map(Math.abs), 1e-9);
    const step = (width - left) / Math.max(values.length, 1);
    const middle = height / 2;
    const path = (keep) => values.map((value, place) => {
      const size = (middle - 12) * value / top;
      const x = (left + place * step).toFixed(2);
      return keep(value) ? `M${x} ${middle}h${step.toFixed(3)}v${(-size).toFixed(2)}h${(-step).toFixed(3)}z` : "";
    }).join("");
    const picture = document.querySelector("#differences svg");
    picture.replaceChildren(
      svg("line", { x1: left, x2: width, y1: middle, y2: middle, class: "grid" }),
      svg("path", { d: path((value) => value > 0), class: "win" }),
      svg("path", { d: path((value) => value < 0), class: "loss" }),
      svg("text", { x: left - 6, y: 16, "text-anchor": "end" }, "+" + top.toPrecision(3)),
      svg("text", { x: left - 6, y: height - 8, "text-anchor": "end" }, "-" + top.toPrecision(3)),
    );
    const [wins, losses] = [values.filter((value) => value > 0).length, values.filter((value) => value < 0).length];
    const caption = `${data.metrics[metric]}: ${data.entrants[shown]} minus ${data.entrants[against]}, case by case: ` +
      `${wins} wins, ${values.length - wins - losses} ties, ${losses} losses`;
    document.querySelector("#differences figcaption").textContent = caption;
    picture.setAttribute("aria-label", caption);
  }

  function svg(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  function listen() {
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["shown", "against", "metric"]) byId(id).addEventListener("change", () => { view.page = 0; load(); });
    for (const [id, event] of [["kind", "change"], ["slice", "change"], ["text", "input"]]) {
      byId(id).addEventListener(event, () => { view.page = 0; show(); });
    }
    byId("previous").addEventListener("click", () => { view.page -= 1; show(); });
    byId("next").addEventListener("click", () => { view.page += 1; show(); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) {
        event.preventDefault();
        byId("text").focus();
      }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") moveFocus(event);
    });
  }

  function moveFocus(event) {
    const openers = [...document.querySelectorAll("tbody .open")];
    const next = openers[openers.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    if (openers.includes(document.activeElement) && next) {
      event.preventDefault();
      next.focus();
    }
  }
})().catch((error) => {
  document.getElementById("broken").hidden = false;
  throw error;
});
