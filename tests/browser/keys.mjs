// The whole search by keyboard.

import assert from "node:assert/strict";
import { test } from "node:test";
import { box, focusedText, inPage, resultLinks, searching } from "./support.mjs";

const hasFocus = (locator) => locator.evaluate((element) => element === document.activeElement);

test("a slash goes to the box, arrows and letters go through the results", () =>
  inPage({ url: searching("river") }, async (page) => {
    const titles = (await resultLinks(page).allTextContents()).map((title) => title.trim());
    assert.ok(titles.length >= 3, titles.join());
    await page.keyboard.press("ArrowDown");
    assert.equal(await focusedText(page), titles[0]);
    await page.keyboard.press("j");
    assert.equal(await focusedText(page), titles[1]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await focusedText(page), titles[2]);
    await page.keyboard.press("k");
    assert.equal(await focusedText(page), titles[1]);
    await page.keyboard.press("/");
    assert.ok(await hasFocus(box(page)));
    assert.equal(await box(page).inputValue(), "river", "the slash itself is not typed");
    await page.keyboard.press("ArrowDown");
    assert.equal(await focusedText(page), titles[0], "down from the box leads to the results");
    await page.keyboard.press("ArrowUp");
    assert.ok(await hasFocus(box(page)), "and back up to the box");
  }));

test("Enter opens the result", () =>
  inPage({ url: searching("river"), allowed: [/^request: /, /^console: /] }, async (page) => {
    const href = await resultLinks(page).first().getAttribute("href");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(href);
  }));

test("the first Tab leads to a link that skips to the results", () =>
  inPage({ url: searching("river") }, async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await focusedText(page), "Skip to the content");
    const shown = await page.locator(".skip").boundingBox();
    assert.ok(shown.width > 50 && shown.height > 20, "it can be seen while it has the focus");
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(page.locator("#content")));
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest("main") !== null));
  }));

test("the focus can be seen on whatever has it", () =>
  inPage({ url: searching("river") }, async (page) => {
    for (let step = 0; step < 25; step += 1) {
      await page.keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        const around = getComputedStyle(document.activeElement.closest("form") ?? document.activeElement);
        return style.outlineStyle !== "none" || around.boxShadow !== "none";
      });
      assert.ok(seen, await page.evaluate(() => document.activeElement.outerHTML));
    }
  }));
