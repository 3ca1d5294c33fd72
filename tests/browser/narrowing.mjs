// Facets, chips, sorting and paging, with and without scripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ANYTHING, PHONE, box, inPage, resultLinks, searching } from "./support.mjs";

const hosts = (page) => page.locator(".hits .host").allTextContents().then((names) => [...new Set(names)]);
const count = async (page) => parseInt(await page.locator(".count").textContent(), 10);

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with scripts" : "without scripts";

  test(`facets narrow and chips widen ${how}`, () =>
    inPage({ url: searching(ANYTHING), javaScriptEnabled }, async (page) => {
      const all = await count(page);
      const site = page.locator(".facets section").first().getByRole("link").first();
      const [name, expected] = [await site.locator(".name").textContent(), parseInt(await site.locator(".n").textContent(), 10)];
      await site.click();
      await page.waitForURL(/site=/);
      assert.deepEqual(await hosts(page), [name]);
      assert.equal(await count(page), expected);
      assert.ok(expected < all);
      await page.getByRole("link", { name: `Remove the filter ${name}` }).click();
      await page.waitForURL((url) => !url.search.includes("site="));
      assert.equal(await count(page), all);
      await page.getByRole("link", { name: "Chinese" }).click();
      await page.waitForURL(/lang=zh/);
      assert.match(await resultLinks(page).first().textContent(), /\p{Script=Han}/u);
      assert.equal(await page.locator(".hits h2").first().getAttribute("lang"), "zh");
    }));

  test(`a search from the first page, sorted and turned to its next page, ${how}`, () =>
    inPage({ javaScriptEnabled }, async (page) => {
      await box(page).fill(ANYTHING);
      await box(page).press("Enter");
      await page.waitForURL(/\/search\?/);
      await page.getByRole("link", { name: "Date", exact: true }).click();
      await page.waitForURL(/sort=date/);
      const first = await resultLinks(page).first().textContent();
      await page.getByRole("link", { name: /Next/ }).click();
      await page.waitForURL(/sort=date.*page=2/);
      assert.notEqual(await resultLinks(page).first().textContent(), first);
      assert.ok((await box(page).inputValue()) === ANYTHING);
    }));
}

test("on a phone the filters open at the top, also without scripts", () =>
  inPage({ url: searching(ANYTHING), viewport: PHONE, javaScriptEnabled: false }, async (page) => {
    const filter = page.locator(".facets").getByRole("link", { name: "Czech" });
    assert.equal(await filter.isVisible(), false);
    await page.locator(".facets summary").first().click();
    await filter.click();
    await page.waitForURL(/lang=cs/);
    assert.equal(await page.locator(".hits h2").first().getAttribute("lang"), "cs");
  }));

test("a misspelled word is corrected and can be insisted on", () =>
  inPage({ url: searching("rivver") }, async (page) => {
    assert.match(await page.locator(".spelling").textContent(), /Showing results for river/);
    assert.ok((await resultLinks(page).count()) > 0);
    await page.locator(".instead a").click();
    await page.waitForURL(/%22rivver%22/);
    assert.equal(await resultLinks(page).count(), 0);
  }));
