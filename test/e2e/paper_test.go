package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/test/paper"
	"ebbtide/test/site"
)

// TestThePaperAlone does the whole outage with no daemon, as a person would who has only the printed run book: each
// step's lines are typed as they are printed, against the real peers, in the order that is printed, and each step is
// seen to be done by the line that the book gives for that. When the mains are back, all that was on is started again.
func TestThePaperAlone(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.makeReady("vcenter", "esx01", "esx02")
	w.s.SetMains(false)
	for _, step := range w.steps("Power down") {
		w.down(step, false)
	}
	w.s.Until("cut", 30*time.Second, func() bool { return w.s.At("ups output off") >= 0 })
	require.True(t, w.s.EstateOff(), strings.Join(w.s.Told(), "\n"))
	require.Equal(t, "0", w.s.NASFile("dirty"))
	w.s.requireOrderDown()
	require.NotContains(t, strings.Join(w.s.Told(), "\n"), "PowerOffVM_Task", "nothing had to be forced")
	w.allUp(false)
}

// TestThePaperAloneWithoutVCenter is the same night with the vCenter dead: what the book says of the hosts' own agents
// must do, with the names of the VMs written into its appendix beforehand. One host was shut down at its console, and
// boots in maintenance mode.
func TestThePaperAloneWithoutVCenter(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.makeReady("esx01", "esx02")
	w.s.VSphere.VCenter().Stop()
	w.s.SetMains(false)
	for _, step := range w.steps("Power down") {
		w.down(step, true)
	}
	w.s.Until("cut", 30*time.Second, func() bool { return w.s.At("ups output off") >= 0 })
	require.True(t, w.s.EstateOff(), strings.Join(w.s.Told(), "\n"))
	w.s.requireOrderDown()
	require.NoError(t, w.s.VSphere.SetMaintenance("esx02", true))
	w.allUp(true)
	require.False(t, w.s.VSphere.InMaintenance("esx02"))
}

// walk is a person with a printed run book and a machine with OpenSSH, govc and NUT's client, in the folder where the
// copies of the credentials are.
type walk struct {
	t    *testing.T
	s    *room
	md   string // the book, in the form that is easiest to read by a program
	pdf  string // what is printed on paper, without blanks
	path string
	off  map[string]bool // by step: it was off already, and that is written into its box
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	s := newRoom(t, nil)
	s.Files(true)
	w := &walk{t: t, s: s, path: t.TempDir(), off: map[string]bool{}}
	file := filepath.Join(s.Dir, "runbook.yaml")
	out, errs, code := run(t, "print", file, "-o", "-", "--as", "md")
	require.Zero(t, code, errs)
	w.md = out
	pdf, errs, code := run(t, "print", file, "-o", "-", "--as", "pdf")
	require.Zero(t, code, errs)
	w.pdf = blanks.ReplaceAllString(paper.Text(t, []byte(pdf)), "")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(w.path, "govc"), "ebbtide/test/govc")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	// The one thing that a person answers by a word: whether the host's fingerprint is the one on the paper.
	known := filepath.Join(w.path, "known_hosts")
	require.NoError(t, os.WriteFile(known, []byte(w.hostKey()), 0o600))
	ssh, err := exec.LookPath("ssh")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(w.path, "ssh"),
		[]byte("#!/bin/sh\nexec "+ssh+" -F none -o UserKnownHostsFile="+known+" -o StrictHostKeyChecking=yes \"$@\"\n"),
		0o700)) //nolint:gosec // a program
	return w
}

var withBackslashes = strings.NewReplacer(` `, `\ `, `"`, `\"`, `\`, `\\`, `#`, `\#`)

var blanks = regexp.MustCompile(`\s+`)

// hostKey asks the NAS for its host key, and compares it with what is printed.
func (w *walk) hostKey() string {
	w.t.Helper()
	host, port, err := net.SplitHostPort(w.s.SSHD.Address)
	require.NoError(w.t, err)
	key, code := w.types("ssh-keyscan -t ed25519 -p "+port+" "+host+" 2>/dev/null", nil)
	require.Zero(w.t, code)
	print, code := w.types("ssh-keygen -lf - <<'E'\n"+key+"E", nil)
	require.Zero(w.t, code, print)
	w.printed(strings.Fields(print)[1])
	return key
}

// types runs what a person types, in the folder of the credentials, and gives what is shown and the exit status.
func (w *walk) types(line string, env []string) (shown string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir = filepath.Join(w.s.Dir, "credentials")
	cmd.Env = append([]string{"PATH=" + w.path + ":" + os.Getenv("PATH"), "HOME=" + w.path, "GOVC_PASSWORD=" + vspheresim.Password}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}                                 // without a terminal to ask for passwords at
	cmd.Stdin = strings.NewReader(withBackslashes.Replace(nuttest.AdminPassword) + "\n") // for upscmd, as the paper says
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended { //nolint:errorlint // as it is given
		require.NoError(w.t, err, line)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// printed asserts that a line stands on the paper.
func (w *walk) printed(line string) string {
	w.t.Helper()
	require.Contains(w.t, w.pdf, blanks.ReplaceAllString(line, ""), "not on the paper")
	return line
}

// onPaper asserts that a line of a step stands on the paper, with blanks if it is one of equal steps.
func (w *walk) onPaper(step printedStep, line string) string {
	w.t.Helper()
	w.printed(step.asPrinted(line))
	return line
}

// makeReady does what the book wants done before the first line is typed: the certificates are compared.
func (w *walk) makeReady(systems ...string) {
	w.t.Helper()
	for _, name := range systems {
		row := regexp.MustCompile(`(?m)^\| \*\*` + name + "\\*\\* \\| `https://([^/]+)/ui` \\| (\\S+) ").FindStringSubmatch(w.md)
		require.NotNil(w.t, row, name)
		shown, code := w.types(w.printed("govc about.cert -k -thumbprint | tee -a known"), []string{"GOVC_URL=" + row[2] + "@" + row[1]})
		require.Zero(w.t, code, shown)
		w.printed(strings.Fields(shown)[1])
	}
	w.printed("export GOVC_TLS_KNOWN_HOSTS=known")
}

// printedStep is a step as it is printed.
type printedStep struct {
	title  string
	fields map[string][]string // by name: what is said, and what is typed, which begins with $
	blank  map[string]string   // of one of equal steps: by a line with its blanks filled in, the line as it is printed
}

// number is the step's number.
func (s *printedStep) number() string { return strings.Fields(s.title)[0] }

// asPrinted gives a line with the blanks that it has on the paper.
func (s *printedStep) asPrinted(line string) string {
	if blank, has := s.blank[line]; has {
		return blank
	}
	return line
}

// filled puts into the blanks of equal steps what stands beside the name of one of them.
func (s *printedStep) filled(number, name, own string) printedStep {
	put := []string{"‹name›", name}
	for _, m := range eachBlank.FindAllStringSubmatch(own, -1) {
		put = append(put, m[1], m[2])
	}
	fill := strings.NewReplacer(put...)
	one := printedStep{
		title: number + " " + equalTitle.FindStringSubmatch(s.title)[1] + " " + name, fields: map[string][]string{},
		blank: map[string]string{},
	}
	if _, first, needs := strings.Cut(own, "needs first: "); needs {
		one.fields["needs first"] = []string{first}
	}
	for field, said := range s.fields {
		for _, line := range said {
			one.fields[field] = append(one.fields[field], fill.Replace(line))
			one.blank[fill.Replace(strings.TrimPrefix(line, "$"))] = strings.TrimPrefix(line, "$")
		}
	}
	return one
}

var (
	stepTitle = regexp.MustCompile(`^<a id="(?:down|up)-\d+"></a>\*\*(.*)\*\*$`)
	manySteps = regexp.MustCompile(`^\*\*(U?\d+–.*)\*\*$`)
	eachStep  = regexp.MustCompile(`^\| <a id="(?:down|up)-\d+"></a>\*\*(U?\d+)\*\* \| \*\*([^*]+)\*\*([^|]*) \|`)
	eachBlank = regexp.MustCompile("\\*\\*(‹[^›]+›)\\*\\* `([^`]+)`")
	// what equal steps do stands between their numbers and how many they are
	equalTitle = regexp.MustCompile(`^\S+ (.*) these \d+$`)
	stepField  = regexp.MustCompile(`^- ([a-z ]+): (.*)$`)
)

// steps reads the steps of a chapter.
func (w *walk) steps(chapter string) []printedStep {
	w.t.Helper()
	_, text, found := strings.Cut(w.md, "</a>"+chapter+"\n")
	require.True(w.t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	var steps []printedStep
	var many *printedStep // what the steps of a table that follows have in common
	field := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := stepTitle.FindStringSubmatch(line); m != nil {
			steps, field, many = append(steps, printedStep{title: m[1], fields: map[string][]string{}}), "", nil
			continue
		}
		if m := manySteps.FindStringSubmatch(line); m != nil {
			many, field = &printedStep{title: m[1], fields: map[string][]string{}}, ""
			continue
		}
		if m := eachStep.FindStringSubmatch(line); m != nil {
			require.NotNil(w.t, many, line)
			steps = append(steps, many.filled(m[1], m[2], m[3]))
			continue
		}
		if m := stepField.FindStringSubmatch(line); m != nil {
			field, line = m[1], m[2]
		} else if !strings.HasPrefix(line, "  ") {
			continue
		}
		step := many
		if step == nil && len(steps) > 0 {
			step = &steps[len(steps)-1]
		}
		if field == "" || step == nil {
			continue
		}
		said, typed, _ := strings.Cut(strings.TrimSpace(line), "`")
		f := step.fields
		if said != "" {
			f[field] = append(f[field], said)
		}
		if typed != "" {
			f[field] = append(f[field], "$"+strings.Trim(typed, "` "))
		}
	}
	require.NotEmpty(w.t, steps)
	return steps
}

// place is where, by what is said before them, the lines are typed that follow.
func place(said, before string) string {
	for _, p := range []struct{ begin, place string }{
		{"In the client at", "manager"},
		{"If that does not answer", "host"},
		{"Or on its host", "console"},
		{"Or on the host", "console"},
		{"Or at its console", "console"},
		{"At its console", "console"},
		{"On its host:", "console"},
		{"Or hold", "button"},
		{"It returns by itself", "button"}, // and is waited for
		{"If it prints it", "maintenance"},
	} {
		if strings.HasPrefix(said, p.begin) {
			return p.place
		}
	}
	return before
}

// lines picks, of what is printed for a field, the lines that are typed tonight, by where they are typed: those for the
// manager, or if it is down those for the hosts' own agents. What is for a host's console is left to who stands there.
func lines(field []string, managerDown bool) []string {
	var picked []string
	at := ""
	for _, l := range field {
		line, typed := strings.CutPrefix(l, "$")
		switch {
		case !typed:
			at = place(l, at)
		case at == "", at == "manager" && !managerDown, at == "host" && managerDown:
			picked = append(picked, line)
		}
	}
	return picked
}

// written are the VMs that the selector stands for, as somebody has written them into the appendix.
var written = []string{"lab1", "lab2"}

// down carries out a step and sees that it is done.
func (w *walk) down(step printedStep, managerDown bool) {
	w.t.Helper()
	env, hosts := w.whereTo(step, managerDown)
	checks := lines(step.fields["verify"], false)
	require.NotEmpty(w.t, checks, step.title)
	if done := w.shows(step, w.onPaper(step, checks[0]), env, managerDown, hosts); strings.Contains(step.title, "shut down "+site.Spare) {
		require.True(w.t, done(), "what is off already is passed over: %s", step.title)
		w.off[step.number()] = true
		return
	}
	env = w.byHand(step, managerDown, env, hosts, func(line, shown string, code int) {
		// it may break off as the machine goes
		if strings.Contains(line, "host.shutdown") || strings.Contains(shown, "closed by remote host") {
			return
		}
		require.Zero(w.t, code, "%s\n%s\n%s", step.title, line, shown)
		if line == "govc find / -type m -runtime.powerState poweredOn" {
			require.Empty(w.t, shown, "no VM runs on a host that is shut down")
		}
	})
	for _, line := range checks {
		w.s.Until(step.title+" as seen by "+line, 30*time.Second, w.shows(step, w.onPaper(step, line), env, managerDown, hosts))
	}
}

// byHand types what a step says, gives what came of each line to typed, and gives where its last lines went.
func (w *walk) byHand(step printedStep, managerDown bool, env, hosts []string, typed func(line, shown string, code int)) []string {
	w.t.Helper()
	for _, line := range lines(step.fields["by hand"], managerDown) {
		w.onPaper(step, line)
		switch {
		case strings.HasPrefix(line, "export GOVC_URL="):
			env = w.at(line)
		case strings.Contains(line, "NAME"):
			for _, name := range written {
				w.whereItIs(line, name, hosts)
			}
		default:
			shown, code := w.types(line, env)
			w.t.Logf("%s\n$ %s\n%s", step.title, line, shown)
			typed(line, shown, code)
		}
	}
	return env
}

// whereTo finds where a step's lines go: all hosts that it names, and the last of all.
func (w *walk) whereTo(step printedStep, managerDown bool) (env, hosts []string) {
	for _, line := range lines(step.fields["by hand"], managerDown) {
		if strings.HasPrefix(line, "export GOVC_URL=") {
			env, hosts = w.at(line), append(hosts, line)
		}
	}
	return env, hosts
}

// at is the environment after a line that tells govc where to go.
func (w *walk) at(export string) []string {
	return []string{strings.TrimPrefix(export, "export "), "GOVC_TLS_KNOWN_HOSTS=known"}
}

// whereItIs types a line for a VM on the hosts in turn, until one has it.
func (w *walk) whereItIs(line, name string, hosts []string) {
	w.t.Helper()
	line = strings.ReplaceAll(line, "NAME", name)
	require.True(w.t, slices.ContainsFunc(hosts, func(host string) bool {
		_, code := w.types(line, w.at(host))
		return code == 0
	}), "no host does it: %s", line)
}

// shows gives the question that a line answers: is the step done?
func (w *walk) shows(step printedStep, line string, env []string, managerDown bool, hosts []string) func() bool {
	w.t.Helper()
	typed := func(holds func(shown string, code int) bool) func() bool {
		return func() bool { return holds(w.types(line, env)) }
	}
	switch {
	case strings.Contains(line, "NAME"):
		return func() bool {
			return !slices.ContainsFunc(written, func(name string) bool {
				return !slices.ContainsFunc(hosts, func(host string) bool {
					shown, _ := w.types(strings.ReplaceAll(line, "NAME", name), w.at(host))
					return strings.Contains(shown, "poweredOff")
				})
			})
		}
	case strings.HasPrefix(line, "govc vm.info "):
		return typed(func(shown string, _ int) bool { return strings.Contains(shown, "poweredOff") })
	case strings.HasPrefix(line, "govc find ") && managerDown, strings.HasPrefix(line, "ping "):
		return func() bool { return true } // a host knows no folders; and this machine, which stands for all of them, answers always
	case strings.HasPrefix(line, "govc find "):
		return typed(func(shown string, code int) bool { return code == 0 && shown == "" })
	case strings.Contains(line, "/dev/tcp/"):
		return typed(func(shown string, code int) bool {
			return code != 0 && (strings.TrimSpace(shown) == "" || strings.Contains(shown, "No route to host"))
		})
	case strings.HasPrefix(line, "upsc "):
		return typed(func(shown string, _ int) bool { return strings.Contains(shown, "OFF") })
	case strings.HasPrefix(line, "ssh ") && strings.Contains(step.title, "write-through"):
		return typed(func(shown string, _ int) bool { return strings.Contains(shown, "protected=yes") })
	case strings.HasPrefix(line, "ssh ") && strings.Contains(step.title, "flush"):
		return typed(func(shown string, _ int) bool { return strings.Contains(shown, "dirty=0") })
	case strings.HasPrefix(line, "ssh "):
		return typed(func(_ string, code int) bool { return code == 3 || code == 255 })
	}
	require.Fail(w.t, "nobody knows what this shows", line)
	return nil
}
