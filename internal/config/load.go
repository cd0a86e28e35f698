package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// Load reads the settings: from the file at path ("" for none), from the environment, and from flags, by flag name as
// Setting.Flag gives it, where a person set them. All mistakes come in one error, a line each.
//
// A relative path in the file is relative to the file, one from elsewhere to the working directory.
func Load(path string, flags map[string]string) (Config, error) {
	l := loader{path: path, flags: flags}
	l.viper = viper.NewWithOptions(viper.WithDecoderRegistry(&l))
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return Config{}, fmt.Errorf("cannot find settings %q: %w", path, err)
		}
		l.config.File = abs
		l.viper.SetConfigFile(abs)
		l.viper.SetConfigType("yaml")
		if err := l.viper.ReadInConfig(); err != nil {
			return Config{}, fmt.Errorf("cannot read settings %q: %w", path, withoutQuotes(err))
		}
	}
	l.apply()
	l.together()
	if len(l.mistakes) > 0 {
		return Config{}, errors.Join(l.mistakes...)
	}
	return l.config, nil
}

type loader struct {
	path     string
	flags    map[string]string
	viper    *viper.Viper
	config   Config
	mistakes []error
}

func (l *loader) mistake(where string, err error) {
	l.mistakes = append(l.mistakes, fmt.Errorf("%s: %w", where, err))
}

// apply lays file, environment and flags over each other and reads every setting.
func (l *loader) apply() {
	rest := maps.Clone(l.flags)
	for _, s := range Settings() {
		if s.Default != "" {
			l.viper.SetDefault(s.Key, s.Default)
		}
		if err := l.viper.BindEnv(s.Key, s.Env()); err != nil {
			l.mistake(s.Key, err)
		}
		if v, ok := rest[s.Flag()]; ok {
			l.viper.Set(s.Key, v)
			delete(rest, s.Flag())
		}
		where, dir := l.origin(s)
		if raw := l.viper.Get(s.Key); raw != nil {
			if err := s.set(&l.config, value{raw: raw, dir: dir}); err != nil {
				l.mistake(where, err)
			}
		}
	}
	if raw := l.viper.Get(commandKey); raw != nil {
		if err := command().set(&l.config, value{raw: raw}); err != nil {
			l.mistake(l.path+": "+commandKey, err)
		}
	}
	for name := range rest {
		l.mistake("--"+name, errors.New("no setting has this flag"))
	}
}

// origin says where a setting's value comes from, and what a relative path there is relative to.
func (l *loader) origin(s Setting) (where, dir string) {
	if _, ok := l.flags[s.Flag()]; ok {
		return "--" + s.Flag(), ""
	}
	if os.Getenv(s.Env()) != "" {
		return s.Env(), ""
	}
	return l.path + ": " + s.Key, filepath.Dir(l.config.File)
}

// together checks and completes what no single setting can.
func (l *loader) together() {
	c := &l.config
	if c.Runbook == "" && len(l.mistakes) == 0 {
		l.mistakes = append(l.mistakes, errors.New("no runbook is set: give runbook in the settings file, EBBTIDE_RUNBOOK or --runbook"))
	}
	if c.Poll > 0 && c.PollOnBattery > c.Poll {
		l.mistake("poll_on_battery", fmt.Errorf("%s is slower than poll, %s", c.PollOnBattery, c.Poll))
	}
	if c.Credentials == "" {
		c.Credentials = os.Getenv("CREDENTIALS_DIRECTORY") // systemd's
	}
	for _, r := range references() {
		l.named(r)
	}
	if c.Listen.TLS && (c.TLS.Certificate == "" || c.TLS.Key.IsZero()) {
		l.mistake("listen", fmt.Errorf("%s needs tls.certificate and tls.key", c.Listen))
	}
	if c.Listen.Network != "" && !c.Listen.Loopback() && c.Token.IsZero() && c.ReadToken.IsZero() {
		l.mistake("listen", fmt.Errorf("%s is open to other machines: set read_token, and token for commands", c.Listen))
	}
}

// named checks that a secret is named once, and is not the value of a variable that looks like a setting.
func (l *loader) named(r reference) {
	ref, parts := *r.of(&l.config), 0
	for _, s := range []string{ref.Credential, ref.File, ref.Env} {
		if s != "" {
			parts++
		}
	}
	if parts > 1 {
		l.mistake(r.key, errors.New("name one of credential, file and env, not more"))
	}
	inline := Setting{Key: r.key}.Env()
	if ref.Env != inline && os.Getenv(inline) != "" {
		l.mistake(inline, fmt.Errorf("it is not a setting: to use it as the secret, set %s_ENV=%s", inline, inline))
	}
}

// Decoder lets viper decode the file by l, which checks the keys before viper folds their case.
func (l *loader) Decoder(string) (viper.Decoder, error) { return l, nil }

// Decode decodes a settings file.
func (l *loader) Decode(b []byte, into map[string]any) error {
	yaml, err := viper.NewCodecRegistry().Decoder("yaml")
	if err != nil {
		return err
	}
	if err := yaml.Decode(b, into); err != nil {
		return err
	}
	known := []string{commandKey}
	for _, s := range Settings() {
		known = append(known, s.Key)
	}
	l.unknown("", into, known)
	return nil
}

// unknown reports the keys below prefix that no setting has. No value is repeated: it may be a secret.
func (l *loader) unknown(prefix string, m map[string]any, known []string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		full := prefix + k
		isGroup := slices.ContainsFunc(known, func(s string) bool { return strings.HasPrefix(s, full+".") })
		inner, isMap := m[k].(map[string]any)
		var err error
		switch {
		case isGroup && isMap:
			l.unknown(full+".", inner, known)
			continue
		case isGroup && m[k] == nil, slices.Contains(known, full):
			continue
		case slices.ContainsFunc(references(), func(r reference) bool { return r.key == full }):
			err = errors.New("a secret never stands in the settings: say where it is, {credential: NAME}, {file: /PATH} or {env: NAME}")
		case isGroup:
			err = fmt.Errorf("it is a group: write its settings below it, like %s", example(known, full))
		default:
			err = errors.New("unknown setting" + suggestion(full, known))
		}
		delete(m, k) // said once is enough
		l.mistake(l.path+": "+full, err)
	}
}

func example(known []string, group string) string {
	i := slices.IndexFunc(known, func(s string) bool { return strings.HasPrefix(s, group+".") })
	return known[i]
}

var quoted = regexp.MustCompile("`[^`]*`|'[^']*'|\"[^\"]*\"")

// withoutQuotes removes from a parser's message what it quotes from the file: a secret may stand there by mistake.
func withoutQuotes(err error) error {
	if parse := (viper.ConfigParseError{}); errors.As(err, &parse) {
		return errors.New(quoted.ReplaceAllString(parse.Error(), "(…)"))
	}
	return err
}

// LoadListen reads where a daemon listens, by the same rules as Load, for a client that needs no more than that. With
// settings at path certificate is the one that the daemon shows there, "" if it speaks no TLS.
func LoadListen(path string, flags map[string]string) (l Listen, certificate string, err error) {
	if path == "" {
		// Only listen is asked for: the settings that a daemon must have may be missing.
		s := flags["listen"]
		if s == "" {
			s = os.Getenv(envPrefix + "LISTEN")
		}
		if s == "" {
			for _, setting := range Settings() {
				if setting.Key == "listen" {
					s = setting.Default
				}
			}
		}
		l, err = parseListen(s)
		return l, "", err
	}
	c, err := Load(path, flags)
	return c.Listen, c.TLS.Certificate, err
}
