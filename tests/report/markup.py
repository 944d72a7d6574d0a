"""What tests see of a page: its elements, and texts that try to be more than text."""

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link", "hr"}
HOSTILE = (
    *("</script><script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "\"' onmouseover=alert(1) x='"),
    *("{{ 7 * 7 }} {% raw %}", "<!-- -->", "&lt;b&gt; &amp;", "]]>", "\u202etxt", "</title></svg></details>"),
)


class Page(HTMLParser):
    """Elements with their attributes, text by element name, and whether all tags are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.stack, self.balanced = [], Counter(), [], True
        self.text = []
        self.feed(html)
        self.close()
        self.balanced &= not self.stack

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.balanced &= bool(self.stack) and self.stack.pop() == tag

    def handle_data(self, data):
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.text.append(data)

    def count(self):
        return Counter(tag for tag, _ in self.elements)

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]
