package cache

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
)

// OpenCASSpec are the keys of a node of type "opencas".
type OpenCASSpec struct {
	Cache int `yaml:"cache" check:"required,positive" json:"cache"` // its id, as "casadm --list-caches" prints it
}

func (s *OpenCASSpec) mistakes() []error { return nil }
func (s *OpenCASSpec) verbs() plan.Verbs { return caching }
func (s *OpenCASSpec) system() system    { return openCAS{strconv.Itoa(s.Cache)} }

func (s *OpenCASSpec) typed() typed {
	id := " --cache-id " + strconv.Itoa(s.Cache)
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect:   {"casadm --set-cache-mode --cache-mode wt" + id + " --flush-cache no"},
			plan.Flush:     {"casadm --flush-cache" + id},
			plan.Unprotect: {"casadm --set-cache-mode --cache-mode wb" + id},
		},
		look:  "casadm --stats" + id,
		clean: "Its write policy says wt, and Dirty is 0, also under inactive usage if there is such a table",
	}
}

// openCAS is a cache of Open CAS Linux, by its id.
type openCAS struct{ id string }

func (c openCAS) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	argv := []string{"casadm", "--stats", "--cache-id", c.id, "--output-format", "csv"}
	res, err := at.root(ctx, argv...)
	switch {
	case err != nil:
		return plan.Observation{}, nil, err
	case res.Code == 127:
		return plan.Observation{}, nil, refused(argv, res)
	case res.Code != 0:
		return unknown("there is no cache %s on the host: %s", c.id, said(res)), nil, nil
	}
	seen, mode, err := readCASStats(res.Stdout)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	return seen, settings{{"cache_mode", mode}}, nil
}

// readCASStats reads the statistics of a cache: a line of headers and a line of values. The headers' case differs between
// versions. Inactive are blocks of cores that are not there: dirty ones among them are data that is nowhere else.
func readCASStats(text string) (plan.Observation, string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		return plan.Observation{}, "", fmt.Errorf("cannot read the statistics of casadm: %q", printable.Text(text, 100))
	}
	is := map[string]string{}
	for i, name := range rows[0] {
		if i < len(rows[1]) {
			is[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(rows[1][i])
		}
	}
	mode, status := is["write policy"], is["status"]
	seen := plan.Observation{State: plan.On, Clean: plan.No, Detail: fmt.Sprintf("%s, policy %s", status, mode)}
	switch mode {
	case "wt", "wa", "pt":
		seen.Protected = plan.Yes
	case "wb", "wo":
		seen.Protected = plan.No
	default:
		return seen, "", fmt.Errorf("casadm reports an unknown write policy: %q", printable.Text(mode, 40))
	}
	known := true
	for _, name := range []string{"dirty [4kib blocks]", "inactive dirty [4kib blocks]"} {
		text, has := is[name]
		if !has {
			known = known && strings.HasPrefix(name, "inactive")
			continue
		}
		blocks, err := strconv.ParseInt(text, 10, 64)
		known = known && err == nil
		seen.Dirty += blocks * 4096
	}
	seen.Clean = plan.FactOf(known && seen.Dirty == 0)
	return seen, mode, nil
}

// do gives a command of casadm. The mode is changed without the flush, so that it is changed at once; the flush goes on
// when it is given again after its time was up.
func (c openCAS) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	argv := []string{"casadm", "--flush-cache", "--cache-id", c.id}
	switch v {
	case plan.Protect:
		argv = []string{"casadm", "--set-cache-mode", "--cache-mode", "wt", "--cache-id", c.id, "--flush-cache", "no"}
	case plan.Unprotect:
		mode := was.get("cache_mode", "wb", oneOf("wt", "wb", "wa", "pt", "wo"))
		argv = []string{"casadm", "--set-cache-mode", "--cache-mode", mode, "--cache-id", c.id}
	default:
	}
	_, err := at.must(ctx, argv...)
	return err
}
