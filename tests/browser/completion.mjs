// Completion while typing: a combobox that works by keys and by pointer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { box, inPage, options, typeInBox } from "./support.mjs";

const asked = (page) => new URL(page.url()).searchParams.get("q");

test("typing offers completions, arrows choose and Enter searches", () => inPage({}, async (page) => {
  await typeInBox(page, "riv", { delay: 20 });
  await options(page).first().waitFor();
  const offered = await options(page).allTextContents();
  assert.ok(offered.includes("river"), offered.join());
  assert.equal(await box(page).getAttribute("aria-expanded"), "true");
  await page.keyboard.press("ArrowDown");
  const active = await box(page).getAttribute("aria-activedescendant");
  assert.equal(await page.locator(`#${active}`).getAttribute("aria-selected"), "true");
  assert.equal(await box(page).inputValue(), offered[0]);
  await page.keyboard.press("ArrowUp");
  assert.equal(await box(page).inputValue(), "riv", "what was typed comes back");
  await page.keyboard.press("ArrowUp");
  assert.equal(await box(page).inputValue(), offered.at(-1), "and the list goes round");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/search\?/);
  assert.equal(asked(page), offered.at(-1));
}));

test("Escape closes the list and keeps what was typed", () => inPage({}, async (page) => {
  await typeInBox(page, "riv");
  await options(page).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  assert.equal(await options(page).count(), 0);
  assert.equal(await box(page).inputValue(), "riv");
  assert.equal(await box(page).getAttribute("aria-expanded"), "false");
}));

test("a click on a completion searches for it", () => inPage({}, async (page) => {
  await typeInBox(page, "zahr");
  await options(page).first().waitFor();
  const text = await options(page).first().textContent();
  await options(page).first().click();
  await page.waitForURL(/\/search\?/);
  assert.equal(asked(page), text);
}));

test("a request that was overtaken is given up", () => inPage({}, async (page) => {
  let release;
  const late = new Promise((resolve) => (release = resolve));
  await page.route(/suggest\?.*q=bo$/, async (route) => {
    await late;
    await route.continue().catch(() => {});
  });
  const held = page.waitForRequest(/q=bo$/);
  await typeInBox(page, "bo");
  await held;
  const givenUp = page.waitForEvent("requestfailed", (request) => /q=bo$/.test(request.url()));
  await typeInBox(page, "ats");
  await givenUp;
  await options(page).first().waitFor();
  for (const text of await options(page).allTextContents()) assert.match(text, /boats/i);
  release();
}));

test("a server that does not complete is no error", () => inPage({ allowed: [/Failed to load resource/] }, async (page) => {
  await page.route(/suggest/, (route) => route.fulfill({ status: 429, json: { error: { code: "busy", message: "" } } }));
  const answered = page.waitForResponse(/suggest/);
  await typeInBox(page, "river");
  await answered;
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/search\?q=river/);
}));
