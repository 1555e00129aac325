package bounded

import (
	"math/rand/v2"
	"testing"
)

func TestMapIsBounded(t *testing.T) {
	const limit = 100
	m := NewMap[int, int](limit)
	weights := map[int]int{} // of the values that are in the map at most
	for n := range 10_000 {
		key, weight := rand.IntN(50), rand.IntN(limit+10)
		m.Set(key, n, weight)
		if weight > limit {
			delete(weights, key)
		} else if weights[key] = weight; true {
			if got, ok := m.Get(key); !ok || got != n {
				t.Fatalf("got %d, %t, want %d", got, ok, n)
			}
		}
		sum := 0
		for key, weight := range weights {
			if _, ok := m.Get(key); !ok {
				delete(weights, key)
				continue
			}
			sum += weight
		}
		if sum > limit || sum != m.weight || len(weights) != len(m.all) {
			t.Fatalf("%d values of weight %d are in the map, which counts %d", len(m.all), sum, m.weight)
		}
	}
}

func TestMapHoldsWhatFits(t *testing.T) {
	m := NewMap[string, int](3)
	for _, key := range []string{"a", "b", "c", "c"} {
		m.Set(key, 1, 1)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, ok := m.Get(key); !ok {
			t.Errorf("no value of %s", key)
		}
	}
	m.Set("d", 1, 1)
	if _, ok := m.Get("a"); ok {
		t.Error("a full map holds its values")
	}
}
