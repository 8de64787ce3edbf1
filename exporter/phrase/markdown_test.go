package phrase

import "testing"

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"shop/web lost 2": "shop/web lost 2", "25.9s": "25.9s", "1. one": `1\. one`, "2) two": `2\) two`, "--flag=1": "--flag=1", "- item": `\- item`,
		"---": `\---`, "# head": `\# head`, "a_b|c": `a\_b\|c`, "a\nb": `a\\nb`, "see https://x.y": `see https\://x.y`, "WWW.x.y": `WWW\.x.y`, "  x": "x", "": "",
		"a@b.c": `a\@b.c`, "<b>&lt;": `\<b\>\&lt;`, "`a`": "\\`a\\`", "[a](b)": `\[a\](b)`, "\\|": `\\\|`, "a\u202eb": `a\\u202eb`,
	} {
		if got := Markdown(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}
