// Package tree is what the runner's own tests mutate.
package tree

// Opens says whether a door with this lock opens for this key. An empty lock opens for nobody.
func Opens(lock, key string) bool {
	if lock == "" {
		return false
	}
	return lock == key
}
