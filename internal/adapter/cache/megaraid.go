package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// MegaRAIDSpec are the keys of a node of type "megaraid".
type MegaRAIDSpec struct {
	Controller int `yaml:"controller" json:"controller"` // its number, from 0
	// Program is the command line tool: storcli64 if not given, perccli64 for a PERC, or its absolute path.
	Program string `yaml:"program" json:"program,omitempty"`
}

var storcli = regexp.MustCompile(`^(/[A-Za-z0-9_./-]*/)?(storcli|perccli)2?(64)?$`)

func (s *MegaRAIDSpec) mistakes() []error {
	var errs []error
	if s.Controller < 0 {
		errs = append(errs, &schema.KeyError{Key: "controller", Err: errors.New("controllers are counted from 0")})
	}
	if s.Program != "" && !storcli.MatchString(s.Program) {
		errs = append(errs, &schema.KeyError{
			Key: "program",
			Err: errors.New("it must be storcli64, perccli64 or the like, or its absolute path"),
		})
	}
	return errs
}

func (s *MegaRAIDSpec) verbs() plan.Verbs { return caching }

func (s *MegaRAIDSpec) system() system {
	program := s.Program
	if program == "" {
		program = "storcli64"
	}
	return &megaraid{program: program, at: "/c" + strconv.Itoa(s.Controller)}
}

func (s *MegaRAIDSpec) typed() typed {
	m := s.system().(*megaraid)
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect:   {m.program + " " + m.at + "/vall set wrcache=wt"},
			plan.Flush:     {m.program + " " + m.at + " flushcache", m.program + " " + m.at + " show preservedcache"},
			plan.Unprotect: {m.program + " " + m.at + "/vall set wrcache=wb"},
		},
		look: m.program + " " + m.at + "/vall show",
		clean: "The column Cache says WT for every virtual drive, none is OfLn, flushcache ended with success, and show preservedcache " +
			"lists none",
	}
}

// megaraid is a controller of Broadcom's MegaRAID family. It has no counter of dirty bytes. What is proven is that all
// virtual drives write through, that no cache is preserved for a drive that is missing, and that a flush ended well after
// that; the flush is remembered here, and given again by a daemon that does not know of it.
type megaraid struct {
	program, at string

	mu      sync.Mutex
	flushed bool // a flush has ended well since all drives write through
}

// virtualDrive is one of the controller's drives: its number and how it writes.
type virtualDrive struct {
	number string
	mode   string // "WT", "WB", "AWB" or "FWB"
	state  string // "Optl", "OfLn", …
}

// reply is what the tool prints with J.
type reply struct {
	Controllers []struct {
		Command struct {
			Status      string `json:"Status"`
			Description string `json:"Description"`
		} `json:"Command Status"`
		Data map[string]json.RawMessage `json:"Response Data"`
	} `json:"Controllers"`
}

// mode is the write policy within the column Cache: NRWTD is no read-ahead, write-through, direct.
var mode = regexp.MustCompile(`^N?R(AWB|FWB|WB|WT)[DC]?$`)

// readDrives reads the answer to "/cN/vall show J": the rows that have a DG/VD.
func readDrives(text string) ([]virtualDrive, error) {
	var r reply
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Controllers) != 1 {
		return nil, fmt.Errorf("cannot read the answer of the controller's tool: %q", printable.Text(text, 100))
	}
	if c := r.Controllers[0].Command; c.Status != "Success" {
		return nil, fmt.Errorf("%w: the controller says %q", adapter.ErrRefused, printable.Text(c.Description, 100))
	}
	var drives []virtualDrive
	var errs []error
	for _, raw := range r.Controllers[0].Data {
		var rows []struct {
			ID    string `json:"DG/VD"`
			State string `json:"State"`
			Cache string `json:"Cache"`
		}
		if json.Unmarshal(raw, &rows) != nil {
			continue // something else than a list of rows
		}
		for _, row := range rows {
			_, vd, ok := strings.Cut(row.ID, "/")
			if !ok {
				continue
			}
			m := mode.FindStringSubmatch(row.Cache)
			if m == nil || !number(vd) {
				errs = append(errs, fmt.Errorf("the virtual drive %q has a cache policy that is not known: %q", printable.Text(row.ID, 20),
					printable.Text(row.Cache, 20)))
				continue
			}
			drives = append(drives, virtualDrive{vd, m[1], row.State})
		}
	}
	if len(drives) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("the controller lists no virtual drive"))
	}
	// By number: the lists of the answer come in no order, and settings are compared as text.
	slices.SortFunc(drives, func(a, b virtualDrive) int {
		return cmp.Or(cmp.Compare(len(a.number), len(b.number)), cmp.Compare(a.number, b.number))
	})
	return drives, errors.Join(errs...)
}

func (m *megaraid) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	text, err := at.must(ctx, m.program, m.at+"/vall", "show", "J")
	if err != nil {
		return plan.Observation{}, nil, err
	}
	drives, err := readDrives(text)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	seen := plan.Observation{State: plan.On, Protected: plan.Yes}
	var was settings
	var notes []string
	for _, d := range drives {
		was = append(was, setting{"v" + d.number, d.mode})
		if d.mode != "WT" {
			seen.Protected = plan.No
			notes = append(notes, "v"+d.number+" "+d.mode)
		}
		if d.state == "OfLn" {
			seen.Clean = plan.No
			notes = append(notes, "v"+d.number+" is offline: the controller may keep data for it")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case seen.Protected == plan.No:
		m.flushed = false
		seen.Clean = plan.No
	case m.flushed && seen.Clean != plan.No:
		kept, err := m.preserved(ctx, at)
		if err != nil {
			return plan.Observation{}, nil, err
		}
		seen.Clean = plan.FactOf(kept == "")
		if kept != "" {
			notes = append(notes, kept)
		}
	case seen.Clean != plan.No:
		notes = append(notes, "not flushed yet")
	}
	seen.Detail = strings.Join(notes, "; ")
	return seen, was, nil
}

// preserved tells of data that the controller keeps for a drive that is not there; "" if there is none.
func (m *megaraid) preserved(ctx context.Context, at host) (string, error) {
	text, err := at.must(ctx, m.program, m.at, "show", "preservedcache")
	if err != nil {
		return "", err
	}
	if strings.Contains(strings.ToLower(text), "no virtual drive has preserved cache") {
		return "", nil
	}
	return "the controller does not say that no cache is preserved", nil
}

func (m *megaraid) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	switch v {
	case plan.Protect:
		_, err := at.must(ctx, m.program, m.at+"/vall", "set", "wrcache=wt")
		return err
	case plan.Flush:
		if _, err := at.must(ctx, m.program, m.at, "flushcache"); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.flushed = true // a look while a drive is not in write-through takes it back
		return nil
	default:
		return m.back(ctx, at, was)
	}
}

// back gives each drive its policy again. AWB and FWB write back also without a battery: they come back only where the
// record says that they were.
func (m *megaraid) back(ctx context.Context, at host, was settings) error {
	m.mu.Lock()
	m.flushed = false
	m.mu.Unlock()
	if len(was) == 0 {
		_, err := at.must(ctx, m.program, m.at+"/vall", "set", "wrcache=wb")
		return err
	}
	for _, d := range was {
		n, ok := strings.CutPrefix(d.key, "v")
		if !ok || !number(n) || !oneOf("WT", "WB", "AWB", "FWB")(d.value) {
			continue
		}
		policy := strings.ToLower(d.value)
		if policy == "fwb" {
			policy = "awb"
		}
		if _, err := at.must(ctx, m.program, m.at+"/v"+n, "set", "wrcache="+policy); err != nil {
			return err
		}
	}
	return nil
}
