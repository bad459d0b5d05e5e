// Acts on a page of traces as a person with a keyboard does, and tells what does not hold (scripts/traces).
"use strict";
{
  const faults = [];
  const expect = (holds, what) => { if (!holds) faults.push(what); };
  const all = selector => [...document.querySelectorAll(selector)];
  const rows = () => all(".row[data-key]");
  const press = key => (document.activeElement || document.body).dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const name = row => row.querySelector(".name").textContent;
  const calls = () => rows().filter(row => row.getAttribute("aria-level") === "1");

  expect(document.title === "Calls of a shop", "title: " + document.title);
  expect(calls().length === 8, "calls: " + calls().length);
  expect(all("[role=treegrid]").length === 1, "a treegrid");
  expect(all("[role=columnheader]").length === 5, "column headers");
  expect(rows().every(row => row.querySelectorAll("[role=gridcell]").length === 5), "cells");
  expect(rows().every(row => row.querySelector(".bar")), "each row has a bar");
  expect(rows().some(row => row.classList.contains("wait")), "a wait");
  expect(rows().some(row => row.querySelector(".outcome").textContent === "503"), "a 503");
  expect(all("#legend li").length >= 4, "legend: " + all("#legend li").length);
  expect(all("img").length === 0 && all("script").length === 3, "nothing of a peer is an element");
  expect(!document.getElementById("data").textContent.includes("hun" + "ter"), "no secret");
  expect(rows().filter(row => row.tabIndex === 0).length === 1, "one row takes the focus");

  // Both copies of a hedge are under way at once: their bars overlap.
  const stock = rows().filter(row => row.classList.contains("attempt"));
  const overlap = stock.some(one => stock.some(two => one !== two && (() => {
    const [a, b] = [one, two].map(row => row.querySelector(".bar").getBoundingClientRect());
    return a.left < b.right && b.left < a.right;
  })()));
  expect(overlap, "hedges overlap");

  rows()[0].focus();
  press("ArrowDown");
  expect(document.activeElement === rows()[1], "arrow down moves the focus");
  expect(!document.getElementById("tip").hidden, "the focus tells figures");
  expect(document.getElementById("tip").textContent.includes("own time"), "own time in the figures");
  press("ArrowUp");
  const before = rows().length;
  press("ArrowLeft");
  expect(rows().length < before, "arrow left folds");
  expect(rows()[0].getAttribute("aria-expanded") === "false", "aria-expanded is false");
  expect(rows()[0].querySelectorAll(".bar").length > 1, "a folded call shows what it sent");
  press("ArrowRight");
  expect(rows().length === before, "arrow right unfolds");
  press("End");
  expect(document.activeElement === rows().at(-1), "End goes to the last row");
  press("Enter");
  const details = document.getElementById("details");
  expect(!details.hidden && document.activeElement === details, "Enter opens details");
  press("Escape");
  expect(details.hidden, "Escape closes them");
  expect(document.activeElement === rows().at(-1), "and gives the focus back");

  const exchange = rows().filter(row => row.classList.contains("exchange")).at(-1);
  exchange.querySelector(".time").click();
  expect(details.textContent.includes("X-Name"), "the response's fields are shown");
  expect(details.textContent.includes("onerror"), "as text");
  expect(details.querySelectorAll("img,script").length === 0, "and not as elements");
  press("Escape");
  press("z");
  expect(parseFloat(document.activeElement.querySelector(".bar").style.width) > 80, "Z zooms");
  press("0");
  press("x");
  expect(rows().length === 8, "X folds all calls");
  const filter = document.getElementById("filter");
  filter.value = "stock";
  filter.dispatchEvent(new Event("input"));
  expect(calls().length === 1, "the filter leaves the calls that match");
  const result = document.createElement("pre");
  result.id = "checks";
  result.textContent = faults.length ? "faults: " + faults.join("; ") : "all checks hold";
  document.body.append(result);
}
