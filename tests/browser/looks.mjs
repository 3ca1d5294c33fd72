// Light and dark, phone and desktop, and what everybody can read and reach. Screenshots are kept to be looked at.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { ANYTHING, DESKTOP, EMPTY, PHONE, SEARCH, inPage, options, typeInBox, screenshot, searching } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Everything that axe finds, contrast included; each problem with an element that has it. */
async function assertAccessible(page) {
  await page.evaluate(AXE);
  const problems = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`);
  });
  assert.deepEqual(problems, []);
}

async function assertFits(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${content} pixels in a window of ${window}`);
}

const PAGES = {
  home: `${SEARCH}/`,
  results: searching("river"),
  filtered: searching(ANYTHING, "&lang=cs&sort=date"),
  corrected: searching("rivver"),
  none: searching("nosuchwordanywhere", "&lang=cs"),
  empty: `${EMPTY}/search?q=river`,
};

for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
    test(`pages in ${colorScheme} on a ${size} fit and are accessible`, () =>
      inPage({ colorScheme, viewport }, async (page) => {
        for (const [name, url] of Object.entries(PAGES)) {
          await page.goto(url);
          await assertFits(page);
          await assertAccessible(page);
          await screenshot(page, `${name}-${size}-${colorScheme}`);
          const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          assert.equal(parseInt(ground.match(/\d+/)[0], 10) > 128, colorScheme === "light", ground);
        }
      }));
  }

  test(`the list of completions in ${colorScheme} is accessible`, () =>
    inPage({ colorScheme }, async (page) => {
      await typeInBox(page, "riv");
      await options(page).first().waitFor();
      await page.keyboard.press("ArrowDown");
      await assertAccessible(page);
      await screenshot(page, `completion-${colorScheme}`);
    }));
}

test("nothing is cut off on the smallest phones and with large letters", () =>
  inPage({ viewport: { width: 320, height: 640 } }, async (page) => {
    for (const url of Object.values(PAGES)) {
      await page.goto(url);
      await assertFits(page);
      await page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
      await assertFits(page);
    }
  }));

test("an error is a page too", () =>
  inPage({ url: searching("river", "&page=0"), allowed: [/status of 400/] }, async (page) => {
    assert.match(await page.locator("h1").textContent(), /cannot be done/);
    await assertAccessible(page);
    await screenshot(page, "error");
  }));

test("style and script together stay small", async () => {
  let bytes = 0;
  for (const name of ["seine.css", "seine.js"]) bytes += (await (await fetch(`${SEARCH}/assets/${name}`)).text()).length;
  assert.ok(bytes < 30_000, `${bytes} bytes`);
});
