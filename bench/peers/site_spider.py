"""Follows every link of the given hosts with Scrapy, and does nothing else with the pages."""

from urllib.parse import urlsplit

import scrapy
from scrapy.http import TextResponse


class SiteSpider(scrapy.Spider):
    name = "site"
    # How many requests at a time are under way is said on the command line.
    custom_settings = {
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }

    def __init__(self, homes, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = homes.split()
        self.hosts = {urlsplit(home).netloc for home in self.start_urls}

    def parse(self, response):
        if not isinstance(response, TextResponse):
            return
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if urlsplit(url).netloc in self.hosts:
                yield scrapy.Request(url)
