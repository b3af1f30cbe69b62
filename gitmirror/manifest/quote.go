package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// style says how scalars are written at one place of a document.
type style struct {
	flow  bool       // inside brackets or braces
	json  bool       // the document is JSON: every string in double quotes
	quote yaml.Style // the quotes the old value had
	octal bool       // the old value was an integer in octal, as file modes are written
}

// scalarText returns v on one line, so that a YAML 1.1 and a YAML 1.2 reader both read v.
func (st style) scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		if st.octal && v >= 0 {
			return "0" + strconv.FormatInt(v, 8)
		}
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case string:
		return st.stringText(v)
	}
	return st.stringText(fmt.Sprint(v))
}

// floatText writes v with a point, since 1e+22 is a string to some readers and 1.0e+22 to none.
func floatText(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok && !strings.Contains(mantissa, ".") {
		return mantissa + ".0e" + exponent
	}
	return s
}

func (st style) stringText(s string) string {
	switch {
	case st.json, st.quote == yaml.DoubleQuotedStyle, !printable(s):
		return doubleQuoted(s)
	case st.quote == yaml.SingleQuotedStyle:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case plain(s, st.flow):
		return s
	}
	return doubleQuoted(s)
}

// printable says whether s stays what it is between single quotes on one line.
func printable(s string) bool {
	for _, r := range s {
		if r < 0x20 || r == 0x7f || escaped(r) {
			return false
		}
	}
	return true
}

// words are the plain texts some reader takes for a boolean, a number or null, in lower case.
var words = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true,
	"null": true, "nil": true, "none": true, "inf": true, "infinity": true, "nan": true,
}

// amount is a number with a unit, which no reader takes for a number: quantities, durations, percentages.
var amount = regexp.MustCompile(`^[0-9]+(m|s|h|ms|k|M|G|T|Ki|Mi|Gi|Ti|%)$`)

// plain says whether s needs no quotes for any reader. But for amounts, whatever does not begin with a letter, a slash
// or an underscore gets quotes: numbers in all their spellings, dates, times and indicators begin otherwise.
func plain(s string, flow bool) bool {
	if amount.MatchString(s) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(first) && first != '/' && first != '_' || words[strings.ToLower(s)] {
		return false
	}
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("/_.-+@%=()$;!?*&~^|<>", r):
		case r == ':' && i+1 < len(s) && s[i+1] != ' ' && !flow:
		case r == ' ' && i+1 < len(s) && s[i+1] != '#' && s[i+1] != ' ':
		case (r == ',' || r == '{' || r == '}' || r == '[' || r == ']') && !flow:
		case r > 0x7f && unicode.IsLetter(r) && !escaped(r):
		default:
			return false
		}
	}
	return true
}

// escaped says whether r above ASCII is written as an escape: what YAML calls unprintable, and its other line breaks.
func escaped(r rune) bool {
	return r >= 0x80 && r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r >= 0xFFFE && r <= 0xFFFF || r == utf8.RuneError
}

// doubleQuoted returns s in double quotes, with escapes that both YAML and JSON know.
func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f || escaped(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal says whether s reads well and exactly as a literal block: several lines, none of them unprintable, not
// beginning with white space, ending in at most one line break.
func literal(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(s, "\n") || body == "" || strings.HasSuffix(body, "\n") || strings.ContainsAny(body[:1], " \t\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if !printable(strings.ReplaceAll(line, "\t", "")) {
			return false
		}
	}
	return true
}
