package renewals

import "math"

// parser reads lines that Batch.Line wrote. It is five times as fast as encoding/json.
type parser struct {
	text []byte
	// `numbers` holds the numbers of all entries, one entry after another. Entry i ends before numbers[ends[i]].
	numbers []int64
	ends    []int
}

// parse parses a line. It returns false for any text that Batch.Line would not write, even if the text is equivalent
// JSON. The result is valid until the next call.
func (p *parser) parse(text []byte) (in line, ok bool) {
	if !IsBatch(text) {
		return in, false
	}
	p.text, p.numbers, p.ends = text[len(prefix):], p.numbers[:0], p.ends[:0]
	if !p.accept('[') {
		return in, false
	}
	for {
		if !p.entry() {
			return in, false
		}
		if p.accept(']') {
			break
		}
		if !p.accept(',') {
			return in, false
		}
	}
	const seen, end = `,"seen":"`, "\"}"
	if len(p.text) > 0 && p.text[len(p.text)-1] == '\n' {
		p.text = p.text[:len(p.text)-1]
	}
	at := len(p.text) - len(end)
	if at < len(seen) || string(p.text[:len(seen)]) != seen || string(p.text[at:]) != end || in.Seen.UnmarshalText(p.text[len(seen):at]) != nil {
		return in, false
	}
	in.Renewals = make([][]int64, len(p.ends))
	begin := 0
	for i, end := range p.ends {
		in.Renewals[i] = p.numbers[begin:end]
		begin = end
	}
	return in, true
}

// entry reads a list of numbers.
func (p *parser) entry() bool {
	if !p.accept('[') {
		return false
	}
	for {
		n, ok := p.number()
		if !ok {
			return false
		}
		p.numbers = append(p.numbers, n)
		if p.accept(']') {
			p.ends = append(p.ends, len(p.numbers))
			return true
		}
		if !p.accept(',') {
			return false
		}
	}
}

// accept skips the character c if it is the next one. It returns true if it skipped the character.
func (p *parser) accept(c byte) bool {
	if len(p.text) == 0 || p.text[0] != c {
		return false
	}
	p.text = p.text[1:]
	return true
}

// number reads an integer. It returns false if the number is too large or not in canonical form.
func (p *parser) number() (n int64, ok bool) {
	negative := p.accept('-')
	digits := 0
	for digits < len(p.text) && p.text[digits] >= '0' && p.text[digits] <= '9' {
		d := int64(p.text[digits] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
		digits++
	}
	if digits == 0 || digits > 1 && p.text[0] == '0' || negative && n == 0 {
		return 0, false
	}
	p.text = p.text[digits:]
	if negative {
		n = -n
	}
	return n, true
}
