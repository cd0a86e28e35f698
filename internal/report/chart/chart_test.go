package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// course is an outage of an hour in which so many nodes are stopped, one after the other, and started again.
func course(nodes int) *Course {
	c := &Course{Title: "a <night> & a day", Start: began, Away: []Interval{{time.Minute, 61 * time.Minute}}}
	at := func(minute float64) time.Time { return began.Add(time.Duration(minute * float64(time.Minute))) }
	stop, start := plan.Stop, plan.Start
	records := []ledger.Record{
		{Kind: ledger.Opened, At: at(1), Power: ledger.Power{Supplies: []string{"ups"}}},
		{Kind: ledger.Triggered, At: at(2), Power: ledger.Power{Stage: "shutdown", Supplies: []string{"left"}}},
		{Kind: ledger.Triggered, At: at(2.1), Power: ledger.Power{Stage: "shutdown", Supplies: []string{"right"}}},
	}
	for i := range nodes {
		id := fmt.Sprintf("node-%03d", i)
		c.Nodes = append(c.Nodes, Node{ID: id, Group: fmt.Sprintf("group-%d", i%7)})
		records = append(records, ledger.Record{Kind: ledger.Intent, At: at(3 + float64(i)/10), Step: ledger.Step{Node: id, Verb: &stop}},
			ledger.Record{Kind: ledger.Proven, At: at(4 + float64(i)/10), Step: ledger.Step{Node: id, Verb: &stop}})
	}
	records = append(records, ledger.Record{Kind: ledger.Turned, At: at(62), Power: ledger.Power{Goal: plan.Up}, Reason: "mains are back"})
	for i := range nodes {
		id := fmt.Sprintf("node-%03d", i)
		records = append(records, ledger.Record{Kind: ledger.Intent, At: at(63), Step: ledger.Step{Node: id, Verb: &start}},
			ledger.Record{Kind: ledger.Proven, At: at(64), Step: ledger.Step{Node: id, Verb: &start}})
	}
	records = append(records, ledger.Record{Kind: ledger.Closed, At: at(65)})
	c.Outages = []timeline.Timeline{timeline.Fold(records)}
	var samples []Sample
	for s := range 66 * 60 {
		v := Sample{At: time.Duration(s) * time.Second, Charge: max(0, 100-float64(s)/30), Load: 40}
		if s > 2000 && s < 2100 {
			v.Charge = math.NaN()
		}
		samples = append(samples, v)
	}
	c.Supplies = []Supply{{ID: "ups", Samples: samples}}
	return c
}

func drawn(t *testing.T, c *Course, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Plot(&b, c, format))
	return b.Bytes()
}

func TestPlotGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, format := range Formats {
		first := drawn(t, course(9), format)
		for range 3 {
			require.True(t, bytes.Equal(first, drawn(t, course(9), format)), format)
		}
		require.False(t, bytes.Equal(first, drawn(t, course(10), format)), format)
	}
	require.Error(t, Plot(io.Discard, course(1), ".gif"))
	_, err := png.Decode(bytes.NewReader(drawn(t, course(9), ".png")))
	require.NoError(t, err)
}

// texts are the words of a drawing; it must be well formed.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var words []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for in := false; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local == "text"
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in {
				words = append(words, string(token))
			}
		}
	}
}

func TestPlotNamesWhatItShows(t *testing.T) {
	t.Parallel()
	words := texts(t, drawn(t, course(mostRows), ".svg"))
	for _, want := range []string{
		"a <night> & a day", "ups charge", "ups load", "mains power out", "mains power back", "power-up", "over",
		"minutes", "stop", "start", "off", "100%",
	} {
		require.Contains(t, words, want)
	}
	for i := range mostRows {
		require.Contains(t, words, fmt.Sprintf("node-%03d", i))
	}
	require.NotContains(t, words, "flush", "the key names what there is")
	shutdowns := 0
	for _, w := range words {
		if w == "shutdown" {
			shutdowns++
		}
	}
	require.Equal(t, 1, shutdowns, "one mark for both supplies")

	words = texts(t, drawn(t, course(mostRows+2), ".svg"))
	require.Contains(t, words, "group-0 (6)", "too many for a row each")
	require.NotContains(t, strings.Join(words, " "), "node-")
}

// TestMarksKeepApart: no label covers another, and no line goes through one.
func TestMarksKeepApart(t *testing.T) {
	t.Parallel()
	p := newPage(course(3), pageWidth)
	require.NotEmpty(t, p.marks)
	for i, a := range p.marks {
		end := a.left + bodyText.Width(a.text)
		require.LessOrEqual(t, float64(end+3), float64(p.width))
		for _, b := range p.marks[i+1:] {
			if b.left < end {
				require.Greater(t, a.level, b.level, "%s and %s", a.text, b.text)
			}
		}
	}
}

func TestPlotOfNothing(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, drawn(t, &Course{Title: "nothing", Start: began}, ".svg"))
	quiet := &Course{Title: "a quiet hour", Start: began, Supplies: course(0).Supplies}
	require.Contains(t, texts(t, drawn(t, quiet, ".svg")), "60")
}

func TestALineKeepsItsCorners(t *testing.T) {
	t.Parallel()
	var line []vg.Point
	for _, at := range []vg.Point{{X: 0, Y: 10}, {X: 1, Y: 9}, {X: 2, Y: 8}, {X: 3, Y: 8}, {X: 4, Y: 8}, {X: 50, Y: 8}, {X: 51, Y: 9}} {
		line = extend(line, at)
	}
	require.Equal(t, []vg.Point{{X: 0, Y: 10}, {X: 1, Y: 9}, {X: 2, Y: 8}, {X: 50, Y: 8}, {X: 51, Y: 9}}, line,
		"a flat stretch is its two ends")
}
