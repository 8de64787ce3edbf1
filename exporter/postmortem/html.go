package postmortem

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/kubeflap/kubeflap/exporter/printable"
)

//go:embed report.html.tmpl
var htmlSource string

// HTML writes a report as one self-contained HTML file without scripts.
func HTML(out io.Writer, in *Input) error {
	page, err := template.New("report.html").Parse(htmlSource)
	if err != nil {
		return fmt.Errorf("parse the template of the report: %w", err)
	}
	var text bytes.Buffer
	if err := page.Execute(&text, documentOf(in)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	// The template escapes markup. printable.Text escapes invisible characters, and characters that reverse the
	// direction of text.
	if _, err := io.WriteString(out, printable.Text(text.String())); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
