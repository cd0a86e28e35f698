package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nuttest"
)

// asked is what `check --live --format json` says.
type asked struct {
	Mistakes, Troubles, Warnings int
	Problems                     []struct{ Severity, Path, Message, Hint string }
	Live                         []struct {
		Supplies []struct {
			Supply, Is, Status, Error string
			Ways, Lacks               []string
			Delays                    []struct {
				Name, Value string
				Settable    bool
			}
			UserMay string `json:"user_may"`
		}
		Selectors []struct {
			Node, Is, Error string
			Members, On     int
			Hosts, Storage  []string
		}
		Nodes []struct {
			Node, Is, State, Detail, Error, Protected string
			Dirty                                     int64
		}
		Unasked   []string
		Uncovered []struct{ Name, Host, Connection, Write string }
	}
}

// look checks the room's runbook live, as text and as JSON, and holds that both end with a code and that neither tells a
// secret.
func (s *room) look(t *testing.T, code int, secrets planted) (text string, doc asked) {
	t.Helper()
	args := []string{"check", filepath.Join(s.Dir, "runbook.yaml"), "--live", "--credentials", filepath.Join(s.Dir, "credentials")}
	text, errs, got := run(t, args...)
	require.Equal(t, code, got, "%s%s", text, errs)
	machine, errs, got := run(t, append(args, "--format", "json")...)
	require.Equal(t, code, got, "%s%s", machine, errs)
	require.NoError(t, json.Unmarshal([]byte(machine), &doc), machine)
	require.Empty(t, secrets.in(t, text+machine+errs))
	t.Log("\n" + text)
	return text, doc
}

func (s *room) secrets() planted {
	p := planted{"NUT's password": nuttest.AdminPassword, "vCenter's password": vspheresim.Password}
	p.key("the NAS's key", s.SSHD.Key)
	return p
}

// problem finds the problem at a place of the runbook that says something.
func (d *asked) problem(t *testing.T, severity, path, says string) (hint string) {
	t.Helper()
	for _, p := range d.Problems {
		if p.Severity == severity && p.Path == path && strings.Contains(p.Message, says) {
			return p.Hint
		}
	}
	require.FailNow(t, "no "+severity+" at "+path+" says: "+says, "%+v", d.Problems)
	return ""
}

// TestAnEstateIsAskedAndNothingIsCommanded: all is well but for a VM that nobody has put into the runbook. What is written
// as the check says covers it.
func TestAnEstateIsAskedAndNothingIsCommanded(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	require.NoError(t, s.VSphere.AddVM(vspheresim.VM{Name: "Forgotten/1 = x", Host: 1}))
	before := s.Told()
	text, doc := s.look(t, 0, s.secrets())
	require.Equal(t, before, s.Told(), "nothing was commanded and nothing has changed")
	require.Contains(t, text, "no mistakes, 1 warning in 1 runbook")

	live := doc.Live[0]
	require.Zero(t, doc.Mistakes+doc.Troubles)
	require.Len(t, live.Supplies, 1)
	ups := live.Supplies[0]
	require.Equal(t, "well", ups.Is)
	require.Contains(t, ups.Status, "OL")
	require.Equal(t, []string{"shutdown.return"}, ups.Ways)
	require.Equal(t, "ups.delay.shutdown", ups.Delays[0].Name)
	require.False(t, ups.Delays[0].Settable)
	require.Equal(t, "yes", ups.UserMay)
	require.Len(t, live.Selectors, 1)
	lab := live.Selectors[0]
	require.Equal(t, []any{"lab", "well", 2, 2}, []any{lab.Node, lab.Is, lab.Members, lab.On})
	require.Equal(t, []string{"esx01", "esx02"}, lab.Hosts)
	require.NotEmpty(t, lab.Storage)
	states := map[string]string{}
	for _, n := range live.Nodes {
		states[n.Node] = n.Is + " " + n.State
		if n.Node == "nas" {
			require.Equal(t, "no", n.Protected)
			require.EqualValues(t, 4096, n.Dirty)
		}
	}
	require.Equal(t, map[string]string{
		"nas": "well on", "esx01": "well on", "esx02": "well on", "db": "well on", "app1": "well on", "app2": "well on",
		"spare":    "well off",
		"lab/lab1": "well on", "lab/lab2": "well on",
	}, states)
	require.Equal(t, []string{"switch"}, live.Unasked)

	require.Len(t, live.Uncovered, 1)
	require.Equal(t, "esx02", live.Uncovered[0].Host)
	hint := doc.problem(t, "warning", "connections.vcenter", `VM "Forgotten/1 = x" on esx02 is running, and no node covers it`)
	require.Contains(t, hint, live.Uncovered[0].Write)

	daemon := start(t, settings)
	s.Until("the daemon tells of it too", 30*time.Second, func() bool {
		return strings.Contains(daemon.Log(), "VMs are running that no node covers") && strings.Contains(daemon.Log(), "Forgotten/1 = x")
	})

	book := filepath.Join(s.Dir, "runbook.yaml")
	old, err := os.ReadFile(book)
	require.NoError(t, err)
	s.Write("runbook.yaml", strings.Replace(string(old), "\npolicy:", "\n  "+live.Uncovered[0].Write+"\npolicy:", 1))
	_, doc = s.look(t, 0, s.secrets())
	require.Empty(t, doc.Problems)
	require.Empty(t, doc.Live[0].Uncovered)
}

// TestWhatIsWrongWithAnEstateIsTold: a dead host and a dead NAS, a UPS that does not offer what is wanted of it, a wrong
// password and a wrong thumbprint.
func TestWhatIsWrongWithAnEstateIsTold(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	s.Files(true)
	require.NoError(t, s.VSphere.CutHost("esx02"))
	s.SSHD.Kill()
	book := filepath.Join(s.Dir, "runbook.yaml")
	old, err := os.ReadFile(book)
	require.NoError(t, err)
	text := strings.Replace(string(old), "password: {credential: upsd}",
		"password: {credential: upsd}, cut: shutdown.stayoff, ondelay: 1m", 1)
	s.Write("runbook.yaml", text)
	wrong := "not the password of upsd"
	s.Secret("upsd", wrong)
	before := s.Told()
	secrets := s.secrets()
	secrets["the wrong password"] = wrong
	shown, doc := s.look(t, 5, secrets)
	require.Equal(t, before, s.Told(), "nothing was commanded")

	doc.problem(t, "trouble", "supplies.ups", "its output can't be cut: the UPS lacks the command shutdown.stayoff (it has load.off, "+
		"load.on, shutdown.return)")
	doc.problem(t, "trouble", "supplies.ups", "ondelay: 1m0s has no effect")
	doc.problem(t, "trouble", "supplies.ups", "either the password is wrong")
	doc.problem(t, "trouble", "nodes.nas", "nas does not answer: cannot reach ")
	doc.problem(t, "trouble", "nodes.esx02", "esx02 does not answer: not responding, according to vCenter")
	ups := doc.Live[0].Supplies[0]
	require.Equal(t, "trouble", ups.Is)
	require.Equal(t, "no", ups.UserMay)
	require.Empty(t, ups.Ways)
	require.Len(t, ups.Lacks, 2)
	require.Equal(t, "trouble", doc.Live[0].Nodes[0].Is, "what is in trouble stands first")
	require.Less(t, strings.Index(shown, "trouble: "), strings.Index(shown, "NODE "))

	// Over a connection that lets nobody in nothing answers: that is said once.
	s.Secret("vcenter", "wrong as well")
	secrets["the other wrong password"] = "wrong as well"
	_, doc = s.look(t, 5, secrets)
	doc.problem(t, "trouble", "connections.vcenter", "connection vcenter can't be used (no answer: app1, app2, db, esx01, esx02 and ")
	doc.problem(t, "trouble", "connections.esx01", "connection esx01 can't be used: ")
	for _, p := range doc.Problems {
		require.NotContains(t, []string{"nodes.db", "nodes.app1", "nodes.lab"}, p.Path)
	}
	require.Empty(t, doc.Live[0].Uncovered, "nobody knows what a selector covers that did not answer")

	// A thumbprint of another, and no credentials at all.
	at := strings.Index(text, `thumbprint: "`) + len(`thumbprint: "`)
	s.Write("runbook.yaml", text[:at]+strings.Repeat("00", 32)+text[at+strings.Index(text[at:], `"`):])
	s.Secret("vcenter", vspheresim.Password)
	_, doc = s.look(t, 5, secrets)
	doc.problem(t, "trouble", "connections.vcenter", "if it was renewed, check it and put its SHA-256 into thumbprint")
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "credentials")))
	out, _, code := run(t, "check", book, "--live")
	require.Equal(t, 5, code)
	require.Contains(t, out, "--credentials DIR at a shell")
}
