// The interface speaks the language of the browser, or the one that was chosen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, SEARCH, box, inPage, screenshot, searching } from "./support.mjs";

for (const [locale, tag, button, results] of [
  ["en-GB", "en", "Search", /\d+ results/],
  ["zh-CN", "zh-Hans", "搜索", /\d+ 条结果/],
  ["cs-CZ", "cs", "Hledat", /\d+ výsled(ek|ky|ků)/],
]) {
  test(`a browser in ${locale} is answered in its language`, () =>
    inPage({ url: searching("river"), locale }, async (page) => {
      assert.equal(await page.locator("html").getAttribute("lang"), tag);
      assert.equal((await page.getByRole("button").first().textContent()).trim(), button);
      assert.match(await page.locator(".count").textContent(), results);
      await screenshot(page, `results-${tag}`);
    }));

  test(`an empty index says what to do in ${locale}`, () =>
    inPage({ url: `${EMPTY}/`, locale }, async (page) => {
      assert.match(await page.locator(".command").textContent(), /seine crawl https:\/\//);
      await screenshot(page, `empty-${tag}`);
    }));
}

test("a language that was chosen stays chosen", () =>
  inPage({ url: `${SEARCH}/` }, async (page) => {
    await page.getByRole("link", { name: "Čeština" }).click();
    await page.waitForURL(/ui=cs/);
    await box(page).fill("zahrada");
    await box(page).press("Enter");
    await page.waitForURL(/\/search\?.*ui=cs/);
    assert.equal(await page.locator("html").getAttribute("lang"), "cs");
    await page.getByRole("link", { name: "Seine, úvodní stránka" }).click();
    await page.waitForURL(/\/\?ui=cs$/);
  }));
