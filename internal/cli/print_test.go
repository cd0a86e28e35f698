package cli

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/test/golden"
	"ebbtide/test/paper"
)

// bare leaves of a printed run book what all its forms have: letters and digits, without marks of any form.
func bare(text string) string {
	return regexp.MustCompile(`[^\pL\pN]+`).ReplaceAllString(text, "")
}

var htmlTags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// forms prints a runbook in all forms, and gives what they say.
func forms(t *testing.T, file string, more ...string) (pdf string, texts map[string]string) {
	t.Helper()
	as := func(form string) string {
		return runCLI(t, exitDone, append([]string{"print", file, "-o", "-", "--as", form}, more...)...)
	}
	pdf = as("pdf")
	return pdf, map[string]string{
		"pdf":  paper.Text(t, []byte(pdf)),
		"html": html.UnescapeString(htmlTags.ReplaceAllString(as("html"), "")), "md": as("md"),
	}
}

// TestPrintedRunbooks prints every runbook that is shipped in all forms: each has every node, step, contact and address.
func TestPrintedRunbooks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			rb, problems, err := readRunbook(file)
			require.NoError(t, err)
			require.False(t, problems.HasErrors())
			schema := families.Schema()
			compiled, err := runbook.Compile(rb, schema, nil)
			require.NoError(t, err)
			var facts []string
			for _, c := range rb.Contacts {
				facts = append(facts, c.Name, c.Phone, c.Role, c.Notes)
			}
			for _, n := range rb.Nodes {
				facts = append(facts, n.ID, n.Rack, n.Notes)
				for _, do := range rb.ProcedureOf(&schema, &n).Do {
					require.NotEmpty(t, do)
				}
			}
			for _, c := range rb.Connections {
				facts = append(facts, rb.EndpointOf(&schema, c.Name).Address)
			}
			for _, s := range rb.Supplies {
				facts = append(facts, s.ID, s.NUT(), s.Rack, s.Notes)
			}
			facts = append(facts, rb.Sentences()...)
			for _, goal := range []plan.Goal{plan.Down, plan.Up} {
				facts = append(facts, compiled.Estate.Plan(goal, nil).Digest())
			}
			pdf, texts := forms(t, file)
			for form, text := range texts {
				said := bare(regexp.MustCompile(`(?m)^.*page \d+ of \d+$`).ReplaceAllString(text, ""))
				missing := slices.DeleteFunc(slices.Clone(facts), func(fact string) bool { return strings.Contains(said, bare(fact)) })
				require.Empty(t, missing, form)
				require.NotContains(t, text, "U+", "a letter that the fonts lack")
				require.NotContains(t, text, "%!", "a text that was put together wrongly")
			}
			pages := strings.Count(texts["pdf"], "\f")
			require.Contains(t, texts["pdf"], fmt.Sprintf("page %d of %d", pages, pages))
			require.Less(t, pages, 40)
			require.Greater(t, pages, 10)
			require.Equal(t, pdf, runCLI(t, exitDone, "print", file, "-o", "-", "--as", "pdf"), "the same runbook, the same bytes")
			requireAnchors(t, runCLI(t, exitDone, "print", file, "-o", "-", "--as", "html"))
		})
	}
}

// requireAnchors: every link within a page leads somewhere, and to one place only.
func requireAnchors(t *testing.T, page string) {
	t.Helper()
	places := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		places[m[1]]++
	}
	for id, n := range places {
		require.Equal(t, 1, n, id)
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, places, m[1])
	}
	require.NotContains(t, page, "<script")
	require.NotRegexp(t, `(src|href)="(https?:)?//`, page, "it must need no network")
}

func TestPrintedMarkdown(t *testing.T) {
	t.Parallel()
	got := runCLI(t, exitDone, "print", "../../runbooks/home-lab.yaml", "-o", "-", "--as", "md", "--date", "2026-03-01")
	golden.Equal(t, "testdata/print/home-lab.md", got)
}

// TestPrintKeepsSecrets: what a runbook refers to is never read, and no form has it.
func TestPrintKeepsSecrets(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "pin")
	require.NoError(t, os.WriteFile(secret, []byte("planted-in-a-file"), 0o600))
	t.Setenv("EBBTIDE_TEST_SECRET", "planted-in-the-environment")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "upsd"), []byte("planted-as-a-credential"), 0o600))
	file := filepath.Join(dir, "site.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`version: 1
runbook: secrets
supplies:
  ups: {nut: "ups@127.0.0.1:3493", username: ebbtide, password: {credential: upsd}}
connections:
  box: {type: ssh, address: "10.0.0.30:22", user: ebbtide, key: {file: `+
		secret+`}, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE7qTu5bXo1VnLr8KcYw3zGmHs6JfPdRa2vQiNx9kBtS"}
  esx: {type: vsphere, url: "https://10.0.0.11/sdk", username: root, password: {env: EBBTIDE_TEST_SECRET}, thumbprint: "4F:3A:91:0C:7D:52:E8:1B:66:A0:3D:9F:12:C4:88:5E:70:2B:D3:19:AC:47:5F:E1:0A:93:B6:28:DD:51:7C:04"}
nodes:
  esx: {type: vsphere.host, via: esx, fed_by: [ups]}
  box: {type: ssh, via: box, fed_by: [ups], stop: [sudo, -S, poweroff], stdin: {file: `+secret+`}, off_when_unreachable: 30s}
policy:
  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}
`), 0o600))
	pdf, texts := forms(t, file)
	texts["file"] = pdf
	for form, text := range texts {
		require.NotContains(t, text, "planted", form)
		require.NotContains(t, text, "AAAAC3Nz", form)
	}
	require.Contains(t, texts["md"], "kept as the file "+secret)
}

// TestPrintFoldsAThousand: VMs that are alike are one line with their number, each is named in the appendix, and it
// does not take long.
func TestPrintFoldsAThousand(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: thousand\nsupplies:\n  ups: {nut: \"ups@127.0.0.1:3493\"}\nconnections:\n")
	b.WriteString("  vc: {type: vsphere, url: \"https://10.0.0.10/sdk\", username: a, password: {credential: a}, thumbprint: " +
		"\"4F:3A:91:0C:7D:52:E8:1B:66:A0:3D:9F:12:C4:88:5E:70:2B:D3:19:AC:47:5F:E1:0A:93:B6:28:DD:51:7C:04\"}\nnodes:\n")
	for h := range 20 {
		fmt.Fprintf(&b, "  host%02d: {type: vsphere.host, via: vc, fed_by: [ups]}\n", h)
	}
	for v := range 1000 {
		fmt.Fprintf(&b, "  vm-%04d: {type: vsphere.vm, via: vc, depends_on: [host%02d]}\n", v, v%20)
	}
	b.WriteString("policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n  limits: {vsphere.vm: {total: 60, " +
		"per_host: 8}}\n")
	file := filepath.Join(t.TempDir(), "thousand.yaml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	began := time.Now()
	pdf := runCLI(t, exitDone, "print", file, "-o", "-", "--as", "pdf")
	t.Logf("1,000 VMs: %v", time.Since(began))
	text := paper.Text(t, []byte(pdf))
	require.Contains(t, text, "×1000")
	for v := range 1000 {
		require.Contains(t, text, fmt.Sprintf("vm-%04d", v))
	}
	require.Less(t, strings.Count(text, "\f"), 60)
}

// TestPrintMarksChanges: what was added or says something else is marked, and what is gone is told.
func TestPrintMarksChanges(t *testing.T) {
	t.Parallel()
	old := "../../runbooks/home-lab.yaml"
	text, err := os.ReadFile(old)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "new.yaml")
	changed := strings.NewReplacer("+1 555 0100", "+1 555 0199", "vm: pihole", "vm: unbound", "  home: {", "  house: {", "reserve: ",
		"reserve: 1", "{on_battery: 1m}", "{on_battery: 90s}", "online: 5m", "online: 4m").Replace(string(text))
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	md := runCLI(t, exitDone, "print", file, "-o", "-", "--as", "md", "--changes", old)
	require.Contains(t, md, "What has changed")
	require.Regexp(t, `changed\*\* \*\*Me`, md)
	require.Regexp(t, `changed\*\* \*\*\d+ shut down dns`, md)
	require.Regexp(t, `changed\*\* \*\*\d+ shut down house`, md)
	require.Contains(t, md, "- shut down home (Power down)")
	require.Regexp(t, `- Who to call: Me · \+1 555 0199`, md)
	require.Regexp(t, `- Who to call: Me · \+1 555 0100`, md)
	require.Regexp(t, `changed\*\* \*\*reserve\*\*`, md)
	require.Regexp(t, `(?s)</a>The last safe time\n.*▌changed.*</a>Power up\n`, md)
	require.NotRegexp(t, `changed\*\* \*\*\d+ shut down vault`, md)
	require.Contains(t, md, "**▌changed** Begins on this condition: on battery for 1m 30s or slack is below 1m.")
	require.Contains(t, md, "- Power down, Stage: shed lab: Begins on this condition: on battery for 1m 30s or slack is below 1m.")
	require.Contains(t, md, "- Power down, Stage: shed lab: Begins on this condition: on battery for 1m or slack is below 1m.")
	require.NotContains(t, md, "**▌changed** Begins on this condition: on battery for 10s", "the trigger of another stage")
	require.Regexp(t, `> <a id="hold-gate"></a>\*\*▌changed\*\* \*\*Hold point: the gate`, md)
	require.Regexp(t, `\d\. \*\*▌changed\*\* Go to “Power up”`, md, "one item of a list")
	html := runCLI(t, exitDone, "print", file, "-o", "-", "--as", "html", "--changes", old)
	require.Contains(t, html, `<p class="changed"><span class="changed-mark">changed</span> Begins on this condition: on battery for 1m`+"\u00a0"+
		`30s or slack is below 1m.</p>`)
	require.Regexp(t, `<aside id="hold-gate" class="changed">`, html)
	require.Regexp(t, `<li class="changed"><span class="changed-mark">changed</span> Go to`, html)
	pdf := paper.Text(t, []byte(runCLI(t, exitDone, "print", file, "-o", "-", "--as", "pdf", "--changes", old)))
	require.Contains(t, bare(pdf), bare("Power down, Stage: shed lab: Begins on this condition: on battery for 1m 30s or slack is below 1m."))

	same := runCLI(t, exitDone, "print", old, "-o", "-", "--as", "md", "--changes", old)
	require.NotContains(t, same, "▌")
	require.Contains(t, same, "No step has changed.")
}

func TestPrintSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	home := "../../runbooks/home-lab.yaml"
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"print"}},
		{exitUsage, []string{"print", home}},
		{exitUsage, []string{"print", home, "-o", "-"}},
		{exitUsage, []string{"print", home, "-o", "book.docx"}},
		{exitUsage, []string{"print", home, "-o", "-", "--as", "md", "--paper", "A5"}},
		{exitUsage, []string{"print", home, "-o", "-", "--as", "md", "--date", "yesterday"}},
		{exitFailed, []string{"print", home, "-o", filepath.Join(t.TempDir(), "none", "book.md")}},
		{exitMistakes, []string{"print", "testdata/mistakes.yaml", "-o", "-", "--as", "md"}},
	} {
		if c.code == exitMistakes {
			c.args[1] = filepath.Join(t.TempDir(), "wrong.yaml")
			require.NoError(t, os.WriteFile(c.args[1], []byte("version: 1\nrunbook: x\nnodes: {}\n"), 0o600))
		}
		runCLI(t, c.code, c.args...)
	}
	out := filepath.Join(t.TempDir(), "book.html")
	require.Contains(t, runCLI(t, exitDone, "print", home, "-o", out, "--format", "json"), strconv.Quote(out))
	require.FileExists(t, out)
}

// TestPrintTellsLettersThatThePDFLacks: on paper a name that nobody can read is found too late.
func TestPrintTellsLettersThatThePDFLacks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../runbooks/home-lab.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "runbook.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "{name: Me,", "{name: 王小明,", 1)), 0o600))
	errs := func(args ...string) string {
		var out, errs bytes.Buffer
		require.Equal(t, exitDone, Main(t.Context(), World{Args: args, Stdout: &out, Stderr: &errs, Version: "test"}), errs.String())
		return errs.String()
	}
	told := errs("print", file, "-o", "-", "--as", "pdf")
	require.Equal(t, 1, strings.Count(told, "warning"))
	require.Contains(t, told, `ebbtide: warning: the PDF fonts lack the characters 王小明 in "Who to call: 王小明"`)
	require.Contains(t, told, "hint: print it as HTML")
	require.Empty(t, errs("print", file, "-o", "-", "--as", "html"))
	require.Contains(t, runCLI(t, exitDone, "print", file, "-o", "-", "--as", "html"), "王小明")
	require.Empty(t, errs("print", "../../runbooks/home-lab.yaml", "-o", "-", "--as", "pdf"))
}
