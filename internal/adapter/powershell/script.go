package powershell

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/schema"
)

// Shell is a connection that runs a program on a Windows machine: of type winrm, or of type ssh.
type Shell interface {
	Run(ctx context.Context, c schema.Command, stdin string) (process.Result, error)
}

// Script is a constant PowerShell script, well below 2,000 characters: cmd.exe takes 8,191 in a line. What it is about
// comes to it as data, as Base64 of JSON: nothing that a runbook or a system says is ever part of a script. It writes one
// JSON value.
type Script string

// Call is one run of a script.
type Call struct {
	// Args stand in $a. They go with the command line, which Windows shows in its list of processes and may log: they are
	// short, and never a secret.
	Args any
	// Input stands in $i, and nil stands for none. It goes by standard input: it may be long, and secret.
	Input any
	// Hints say what the errors mean that the script's cmdlets are known for, before those of all scripts.
	Hints []Hint
}

// Hint is what an error means: the first in whose text or name Text is found.
type Hint struct {
	Text  string
	Means error  // a sentinel of package adapter
	Say   string // what to do; "": what Windows says is enough
}

const (
	// prelude makes an answer of every error.
	prelude = `$ProgressPreference='SilentlyContinue';$ErrorActionPreference='Stop';` +
		`trap{[Console]::Out.Write((@{error="$_";id="$($_.FullyQualifiedErrorId)"}|ConvertTo-Json -Compress));exit 0};` +
		`$a=[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('%s'))|ConvertFrom-Json;`
	// reading takes the input. Base64 is the same in all code pages, and blanks in it do no harm.
	reading = `$i=[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([string]::Join('',@($input))))|ConvertFrom-Json;`
)

// Argv is the command that runs the script. Its last word is Base64 without "=" at its end, which means nothing to any
// shell that may stand between: the script is filled up with blanks.
func (s Script) Argv(c Call) ([]string, error) {
	args, err := encode(c.Args)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(prelude, args)
	if c.Input != nil {
		text += reading
	}
	units := utf16.Encode([]rune(text + string(s)))
	for len(units)%3 != 0 {
		units = append(units, ' ')
	}
	raw := make([]byte, 0, 2*len(units))
	for _, u := range units {
		raw = append(raw, byte(u), byte(u>>8))
	}
	return []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-EncodedCommand", base64.StdEncoding.EncodeToString(raw)}, nil
}

func encode(v any) (string, error) {
	text, err := json.Marshal(v)
	return base64.StdEncoding.EncodeToString(text), err
}

// Run runs the script on the machine of a connection and reads its answer into a pointer, or leaves it with nil. An error
// wraps what Shell.Run gave, or the sentinel that the script's own error stands for; adapter.ErrRefused if it is not known.
func (s Script) Run(ctx context.Context, on Shell, c Call, into any) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("it was not asked: %w", err)
	}
	argv, err := s.Argv(c)
	if err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	stdin := ""
	if c.Input != nil {
		if stdin, err = encode(c.Input); err != nil {
			return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
		}
		stdin += "\r\n"
	}
	res, err := on.Run(ctx, schema.Command{Argv: argv}, stdin)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.TrimPrefix(res.Stdout, "\ufeff"))
	var failed struct {
		Error string `json:"error"`
		ID    string `json:"id"`
	}
	if json.Unmarshal([]byte(text), &failed) == nil && failed.Error != "" {
		return explain(c.Hints, failed.Error, failed.ID)
	}
	if text == "" || res.Code != 0 {
		return explain(c.Hints, fmt.Sprintf("PowerShell exited with %d: %s", res.Code,
			printable.Text(strings.TrimSpace(res.Stderr+" "+text), 200)), "")
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: PowerShell's answer is not JSON: %s", adapter.ErrRefused, printable.Text(text, 100))
	}
	return nil
}

// common are the errors that any script may have.
var common = []Hint{
	{Text: "CommandNotFoundException", Means: adapter.ErrRefused, Say: "the machine lacks a cmdlet: install the module that has it"},
	{Text: "not recognized", Means: adapter.ErrRefused, Say: "PowerShell was not found on the machine"},
}

func explain(hints []Hint, text, id string) error {
	text = strings.Join(strings.Fields(text), " ")
	for _, list := range [][]Hint{hints, common} {
		for _, h := range list {
			if strings.Contains(text, h.Text) || strings.Contains(id, h.Text) {
				if h.Say == "" {
					return fmt.Errorf("%w: %s", h.Means, text)
				}
				return fmt.Errorf("%w: %s (%s)", h.Means, h.Say, text)
			}
		}
	}
	return fmt.Errorf("%w: Windows says: %s", adapter.ErrRefused, text)
}

// Unknown reports whether an error leaves open what was done.
func Unknown(err error) bool {
	for _, sure := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
		if errors.Is(err, sure) {
			return false
		}
	}
	return err != nil
}

// Asked is what an error of a question means: no answer is as good as not asked.
func Asked(err error) error {
	if Unknown(err) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", adapter.ErrUnreachable, err)
	}
	return err
}
