package contracts

import "log/slog"

// Secret is a text that must never be shown: it prints, logs and marshals as
// "***". Reveal returns the text for the one place that needs it.
type Secret string

const hidden = "***"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string               { return s.mask() }
func (s Secret) GoString() string             { return s.mask() }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(s.mask()) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.mask()), nil }

// UnmarshalText takes the text unchanged.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

func (s Secret) mask() string {
	if s == "" {
		return ""
	}
	return hidden
}
