// Package browser_test reads what Ebbtide writes as HTML in a real browser: Debian's Chromium, without a network.
package browser_test

import (
	"context"
	_ "embed"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"ebbtide/test/paper"
	"ebbtide/test/site"
)

var binary string

func TestMain(m *testing.M) { site.Main(m, &binary) }

//go:embed look.js
var look string

// patience is how long it may take in all, on a slow machine.
const patience = 4 * time.Minute

// start starts a browser for a test. The test's end stops it.
func start(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no chromium: run make setup")
		}
		t.Skip("there is no chromium: run make setup")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.Flag("headless", "new"), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 { // Chromium has no sandbox for root
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // it is closed at the end, when the test's is over
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...) // in a folder of its own, which goes with it
	t.Cleanup(stop)
	ctx, _ = chromedp.NewContext(ctx)
	require.NoError(t, chromedp.Do(ctx))
	t.Cleanup(func() { require.NoError(t, chromedp.Cancel(ctx)) })
	return ctx
}

// heard is what a page did that a document must not do.
type heard struct {
	sync.Mutex
	complaints []string
	requests   []string
}

func (h *heard) listen(ev any) {
	h.Lock()
	defer h.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		h.complaints = append(h.complaints, "the console was written to: "+string(ev.Type))
	case *runtime.EventExceptionThrown:
		h.complaints = append(h.complaints, "an exception: "+ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		h.complaints = append(h.complaints, string(ev.Entry.Level)+": "+ev.Entry.Text)
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; !strings.HasPrefix(u, "data:") {
			h.requests = append(h.requests, u)
		}
	}
}

// view is how a reader sees a page.
type view struct {
	name          string
	width, height int64
	scheme        string
}

var views = []view{
	{"light", 1200, 900, "light"},
	{"dark", 1200, 900, "dark"},
	{"phone", 390, 844, "light"},
	{"phone-dark", 390, 844, "dark"},
}

// TestDocumentsInABrowser reads a run book and reports on a desk and on a phone, by day and by night, and prints them.
// With -artifacts it leaves pictures of what it saw.
func TestDocumentsInABrowser(t *testing.T) {
	t.Parallel()
	browser := start(t)
	for _, doc := range []struct{ name, runbook, scenario string }{
		{"runbook", "smb-datacenter.yaml", ""},
		{"report", "home-lab.yaml", "home-lab-bad-night.yaml"},
	} {
		t.Run(doc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), doc.name+".html")
			write(t, file, doc.runbook, doc.scenario)
			address := (&url.URL{Scheme: "file", Path: file}).String()
			ctx, end := chromedp.NewContext(browser)
			defer end()
			h := &heard{}
			require.NoError(t, chromedp.Listen(ctx, h.listen))
			_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
			require.NoError(t, err)
			_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(address)))
			title, err := chromedp.Run(ctx, chromedp.Title())
			require.NoError(t, err)
			for _, v := range views {
				scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
					Name:  "prefers-color-scheme",
					Value: v.scheme,
				}}}
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, scheme)
				require.NoError(t, err)
				require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(v.width, v.height)))
				complaints, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](look))
				require.NoError(t, err)
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(90))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), v.name+".jpg"), picture, 0o600))
				require.Empty(t, complaints, v.name)
			}
			pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), "printed.pdf"), pdf, 0o600))
			require.Contains(t, strings.Join(strings.Fields(paper.Text(t, pdf)), " "), title)
			h.Lock()
			defer h.Unlock()
			require.Empty(t, h.complaints)
			require.Equal(t, []string{address}, h.requests, "it needs nothing but itself")
		})
	}
}

// write makes the document as the program does: a run book, or the report of a simulated outage.
func write(t *testing.T, file, runbook, scenario string) {
	t.Helper()
	runbooks, err := filepath.Abs("../../runbooks")
	require.NoError(t, err)
	runbook = filepath.Join(runbooks, runbook)
	if scenario == "" {
		_, errs, code := site.Run(t, binary, "print", runbook, "-o", file)
		require.Zero(t, code, errs)
		return
	}
	night, errs, _ := site.Run(t, binary, "simulate", runbook, "--scenario", filepath.Join(runbooks, "scenarios", scenario),
		"--format", "json")
	require.NotEmpty(t, night, errs)
	require.NoError(t, os.WriteFile(file+".json", []byte(night), 0o600))
	_, errs, code := site.Run(t, binary, "report", file+".json", "--runbook", runbook, "-o", file)
	require.Zero(t, code, errs)
}
