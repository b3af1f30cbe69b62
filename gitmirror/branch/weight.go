package branch

// perValue is what one value costs beside its text, in bytes, roughly.
const perValue = 48

// weight returns about how many bytes of memory an edit keeps.
func weight(e Edit) int64 {
	n := int64(perValue * 8)
	for _, c := range e.Intent.Changes {
		n += perValue*int64(1+len(c.Path)) + weigh(c.Value) + weigh(c.Old)
	}
	return n + weigh(e.Intent.Whole)
}

// weigh returns about how many bytes a decoded JSON value takes.
func weigh(v any) int64 {
	switch v := v.(type) {
	case string:
		return perValue + int64(len(v))
	case []any:
		n := int64(perValue)
		for _, e := range v {
			n += weigh(e)
		}
		return n
	case map[string]any:
		n := int64(perValue)
		for k, e := range v {
			n += perValue + int64(len(k)) + weigh(e)
		}
		return n
	}
	return perValue
}
