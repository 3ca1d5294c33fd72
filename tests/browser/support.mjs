// One Chromium for all checks, a fresh context for each, and a watch on everything that goes wrong in a page.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after } from "node:test";
import { chromium } from "playwright-core";

function setting(name) {
  assert.ok(process.env[name], `${name} is not set; these checks are started by the end-to-end tests`);
  return process.env[name];
}

/** The search page of a server that has crawled the demo web, and of one that has crawled nothing. */
export const SEARCH = setting("SEINE_PAGE");
export const EMPTY = setting("SEINE_EMPTY_PAGE");
const SCREENSHOTS = setting("SEINE_SCREENSHOTS");
mkdirSync(SCREENSHOTS, { recursive: true });

/** Finds pages of all three hosts of the demo web, in three languages. */
export const ANYTHING = "river OR zahrada OR 图书馆";

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

const browser = await chromium.launch({
  executablePath: setting("SEINE_CHROMIUM"),
  // Nothing here may reach outside this machine.
  args: ["--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
after(() => browser.close());

export const searching = (words, more = "") => `${SEARCH}/search?q=${encodeURIComponent(words)}${more}`;

/**
 * Runs `check` with a page in a context of its own. Afterwards nothing may have gone wrong in it: no error of a script,
 * no message on the console (a violated content security policy is one), no request to another server.
 */
export async function inPage(options, check) {
  const { url = `${SEARCH}/`, allowed = [], ...rest } = options;
  const context = await browser.newContext({ viewport: DESKTOP, locale: "en-US", ...rest });
  context.setDefaultTimeout(15_000);
  const problems = [];
  const note = (problem) => allowed.some((pattern) => pattern.test(problem)) || problems.push(problem);
  try {
    const page = await context.newPage();
    page.on("pageerror", (error) => note(`script: ${error.message}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && note(`console: ${message.text()}`));
    const isOurs = (address) => [SEARCH, EMPTY].some((server) => address.startsWith(server));
    page.on("request", (request) => isOurs(request.url()) || note(`request: ${request.url()}`));
    await page.goto(url);
    await check(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

export const screenshot = (page, name) => page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });

export const box = (page) => page.locator("#q");
/** Types where the focus is, once the box has it: a busy browser gives it only when it draws. */
export async function typeInBox(page, text, options) {
  await page.waitForFunction(() => document.activeElement?.id === "q");
  await page.keyboard.type(text, options);
}
export const options = (page) => page.getByRole("option");
export const resultLinks = (page) => page.locator(".hits h2 a");
export const focusedText = (page) => page.evaluate(() => document.activeElement.textContent.trim());
