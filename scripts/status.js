// Looks at the page of a client's status, and tells what does not hold (scripts/traces).
"use strict";
{
  const faults = [];
  const expect = (holds, what) => { if (!holds) faults.push(what); };
  const all = selector => [...document.querySelectorAll(selector)];
  const color = element => getComputedStyle(element).color;

  expect(document.title === "Status of a shop", "title: " + document.title);
  expect(all("li.bad").length === 31, "reasons: " + all("li.bad").length);
  expect(all("li.bad")[0].textContent.startsWith("Switched: switch: off, set by <img"), "the switch is first");
  expect(all("tr.part").map(row => row.cells[0].textContent + row.cells[1].textContent).join() ===
    "Client,1Switched,1.1Retry,2CircuitBreaker,3ConcurrencyLimit,4AttemptTimeout,MockTransport", "the order of the gates");
  expect(all("tr.bad").length === 31, "lines of trouble: " + all("tr.bad").length);
  expect(all("img").length === 0 && all("script").length === 1, "nothing of others is an element");
  expect(!document.body.textContent.includes("hun" + "ter"), "no secret");
  expect(color(all("li.bad")[0]) !== color(document.body), "trouble has a color of its own");
  expect(all("td,th,li,h1,h2").every(cell => cell.getBoundingClientRect().right <= innerWidth + 1), "nothing is cut off");
  const grid = document.getElementById("grid");
  expect(grid.scrollWidth <= grid.clientWidth && grid.scrollHeight > grid.clientHeight, "it scrolls down only");
  const result = document.createElement("pre");
  result.id = "checks";
  result.textContent = faults.length ? "faults: " + faults.join("; ") : "all checks hold";
  document.body.append(result);
}
