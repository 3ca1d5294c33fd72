// An exported mirror, opened from the disk. Started by tests/tests/e2e/mirror_in_a_browser.rs, which knows what is in it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { PHONE, inPageOf, screenshot, setting } from "./browser.mjs";

const MIRROR = pathToFileURL(setting("SEINE_MIRROR")).href;
const START = `${MIRROR}/index.html`;

/** Nothing but files of the mirror, and what is written in them. */
const isOnDisk = (address) => address.startsWith(`${MIRROR}/`) || address.startsWith("data:");

const inMirror = (options, check) =>
  inPageOf(START, isOnDisk, options, async (page) => {
    const failed = [];
    page.on("requestfailed", (request) => failed.push(request.url()));
    await check(page);
    assert.deepEqual(failed, []);
  });

/** Clicks a link and tells the title of the page that it leads to. */
async function follow(page, name) {
  await page.getByRole("link", { name, exact: true }).first().click();
  await page.waitForLoadState();
  return page.title();
}

const styleOf = (page, selector, property) =>
  page.locator(selector).first().evaluate((element, name) => getComputedStyle(element)[name], property);
const widthOf = (page, selector) => page.locator(selector).first().evaluate((image) => image.naturalWidth);

test("a page is shown with its styles and pictures from the disk alone", () =>
  inMirror({}, async (page) => {
    await page.waitForLoadState("networkidle");
    assert.equal(await styleOf(page, "h1", "color"), "rgb(20, 83, 45)", "a style in a file");
    assert.equal(await styleOf(page, "nav", "borderTopColor"), "rgb(200, 60, 60)", "a style in a file that a style imports");
    assert.equal(await styleOf(page, "p.note", "backgroundColor"), "rgb(255, 243, 205)", "a style in the page");
    assert.match(await styleOf(page, "header", "backgroundImage"), /^url\("file:.*stripe/, "a picture of a style");
    assert.equal(await widthOf(page, "img.photo"), 1, "a picture in a file");
    assert.equal(await widthOf(page, "img.inline"), 1, "a picture in the page");
    assert.ok((await page.locator("body").innerHTML()).includes('alt="A boat on the river"'), "what stands for a missing one");
    await screenshot(page, "mirror", { fullPage: true });
  }));

test("links lead from file to file, also with folders, queries and letters of all alphabets", () =>
  inMirror({}, async (page) => {
    assert.equal(await follow(page, "Chapter one"), "Chapter one");
    assert.equal(await styleOf(page, "h1", "color"), "rgb(20, 83, 45)", "a style two folders up");
    assert.equal(await follow(page, "A section of it"), "A section");
    assert.ok(page.url().endsWith("#second"), page.url());
    assert.equal(await follow(page, "Home"), "The river");
    assert.equal(await follow(page, "List, page 2"), "List 2");
    assert.equal(await follow(page, "List, page 1"), "List 1");
    assert.equal(await follow(page, "Home"), "The river");
    assert.equal(await follow(page, "Příliš žluťoučký kůň"), "Příliš žluťoučký kůň");
    assert.equal(await page.locator("p").first().textContent(), "Úpěl ďábelské ódy.", "its charset was another");
    await screenshot(page, "mirror-czech");
    assert.equal(await follow(page, "图书馆"), "图书馆");
    assert.equal(await follow(page, "Home"), "The river");
    assert.equal(await follow(page, "50% off"), "Half the price");
    assert.equal(await styleOf(page, "body", "maxWidth"), "768px", "a plain style instead of the one that is missing");
    await screenshot(page, "mirror-plain");
    await page.goBack();
    const elsewhere = page.getByRole("link", { name: "Elsewhere" });
    assert.equal(await elsewhere.getAttribute("href"), "http://elsewhere.test/page", "what is not in the mirror is on the web");
  }));

test("no script runs from the disk, whatever the address of a page ends with and its type is", () =>
  inMirror({}, async (page) => {
    for (const [name, text] of [["Notes", "<script>"], ["Old page", "Old."], ["Drawing", "<script>"], ["Data", "<x:script"]]) {
      await page.goto(START);
      assert.notEqual(await follow(page, name), "ran", name);
      assert.ok((await page.locator("body").textContent()).includes(text), `${name} is shown`);
      if (name === "Old page") await page.getByText("Old.").click();
      assert.notEqual(await page.title(), "ran", name);
    }
  }));

test("it can be read on a phone", () =>
  inMirror({ viewport: PHONE }, async (page) => {
    await screenshot(page, "mirror-phone", { fullPage: true });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `${width} pixels wide`);
  }));
