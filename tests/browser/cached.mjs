// The copy that the archive has of a result.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inPage, resultLinks, screenshot, searching } from "./support.mjs";

test("the cached copy of a result says what it is of and leads to it", () =>
  // The copy's policy refuses the style of the original site, and the browser says so.
  inPage({ url: searching("ferry cable"), allowed: [/Content Security Policy/, /^request: .*\.css$/] }, async (page) => {
    const [original, title] = [await resultLinks(page).first().getAttribute("href"), await resultLinks(page).first().textContent()];
    await page.getByRole("link", { name: "Cached copy" }).first().click();
    await page.waitForURL(/\/cached\/[0-9a-f]{32}/);
    assert.equal(await page.getByRole("link", { name: original, exact: true }).first().getAttribute("href"), original);
    assert.ok((await page.locator("body").textContent()).includes("The reaction ferry"), title);
    assert.equal(await page.locator("script, form, iframe").count(), 0, "nothing that runs or posts is left");
    await screenshot(page, "cached");
  }));
