package check

import (
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// Markdown prints a report as GitHub's Markdown, for a comment of a pull request: the first n functions of each type, or all if n is
// 0. The worse functions are open, and the others folded.
func (r *Report) Markdown(p *cli.Printer, n int) {
	p.Printf("### Profiles: %s\n", r.Conclusion())
	for i := range r.Types {
		t := &r.Types[i]
		var worse, others []FunctionReport
		for _, f := range cli.First(t.Functions, n) {
			if f.Verdict == Worse {
				worse = append(worse, f)
			} else {
				others = append(others, f)
			}
		}
		p.Printf("\n**%s**\n", plain(t.title()))
		if t.Total != nil {
			p.Printf("\nTotal: %s\n", plain(t.sentence(*t.Total)))
		}
		if note := t.note(); note != "" {
			p.Printf("\n_%s_\n", note)
		}
		t.markdownTable(p, worse)
		if len(others) > 0 {
			p.Printf("\n<details><summary>%s that cost less, or moved</summary>\n", cli.Many(len(others), "function"))
			t.markdownTable(p, others)
			p.Printf("\n</details>\n")
		}
		if left := len(t.Functions) - len(worse) - len(others); left > 0 {
			p.Printf("\n%s not shown\n", cli.Many(left, "more function"))
		}
	}
	for _, b := range r.Budgets {
		p.Printf("\n- %s\n", plain(b.sentence()))
	}
}

func (t *TypeReport) markdownTable(p *cli.Printer, functions []FunctionReport) {
	if len(functions) == 0 {
		return
	}
	p.Printf("\n| verdict | cost | base | new | growth | p | function |\n|---|---|--:|--:|--:|--:|---|\n")
	for _, f := range functions {
		c, isSelf := f.shown()
		p.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", f.word(), costName(isSelf), t.value(c.Base), t.value(c.New), c.growth(), c.p(), code(f.Name+f.moved()))
	}
}

// code returns a text as code in a table. Names are not trusted: in code, nothing is a link, a mention or HTML.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(cli.Printable(text)) + "`"
}

// plain returns a text in which no character has a meaning for Markdown.
func plain(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", "&", "&amp;", "|", `\|`, "#", `\#`, "@", "&#64;", "~", `\~`).Replace(text)
}
