// A click on a header sorts a table, a text box filters a long one, a click on a figure enlarges it; boxes that scroll are marked.
"use strict";
const LONG = 8; // rows; a longer table has a text box
const NUMBER = /^[≤≥<>=×]*\s*([+-]?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(%|pp|points|×|µs|ms|s)?$/;
const UNITS = { "µs": 1e-6, ms: 1e-3 };

// The text of a cell without its interval, and its number where it is one.
function content(cell) {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("small").forEach((small) => small.remove());
  const text = copy.textContent.trim();
  const match = NUMBER.exec(text);
  return { text, number: match ? Number(match[1].replaceAll(",", "")) * (UNITS[match[2]] ?? 1) : NaN };
}

// Numbers stand before texts, and cells without a value last, whichever the direction is.
function compare(a, b, sign) {
  const rank = (entry) => (/^-?$/.test(entry.text) ? 2 : Number.isNaN(entry.number) ? 1 : 0);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (rank(a) === 0) return sign * (a.number - b.number);
  return sign * a.text.localeCompare(b.text, "en", { numeric: true });
}

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const sort = () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[header.ariaSort];
      headers.forEach((each) => (each.ariaSort = "none"));
      header.ariaSort = next;
      const keys = new Map(rows.map((row) => [row, content(row.cells[column])]));
      const sign = next === "ascending" ? 1 : -1;
      const sorted = next === "none" ? rows : rows.toSorted((a, b) => compare(keys.get(a), keys.get(b), sign));
      body.append(...sorted);
    };
    header.ariaSort = "none";
    header.tabIndex = 0;
    header.addEventListener("click", sort);
    header.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
  if (rows.length > LONG) {
    const box = Object.assign(document.createElement("input"), { type: "search", placeholder: `filter ${rows.length} rows` });
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    table.closest(".table").querySelector(".controls").prepend(box);
  }
}
// A link to a claim leads to its row: the table is unfolded first.
function land() {
  const place = document.getElementById(location.hash.slice(1));
  place?.closest("details")?.setAttribute("open", "");
  place?.scrollIntoView();
}
land();
addEventListener("hashchange", land);
// Boxes of which more is behind the right edge have the class `more`.
for (const box of document.querySelectorAll(".wide, p:has(> img)")) {
  const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  box.addEventListener("scroll", mark);
  new ResizeObserver(mark).observe(box);
  new ResizeObserver(mark).observe(box.firstElementChild);
}
for (const image of document.images) image.addEventListener("click", () => image.classList.toggle("large"));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));
