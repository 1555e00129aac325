package task

import "testing"

// TestUserNamesWithInvisibleCharactersAreRejected checks that a user name with invisible characters is
// rejected.
func TestUserNamesWithInvisibleCharactersAreRejected(t *testing.T) {
	for name, good := range map[string]bool{
		"ann": true, "ann lee": true, "ann@example.com": true, "Ünïcødé 🚀": true, "ānñ-李": true, "山田\u3000太郎": true, "系統:管理": true,
		"ann\u200b": false, "a\u200dnn": false, "\ufeffann": false, "ann\u202e": false, "\u2066ann": false, "a\u00adnn": false,
		"ann\u2028": false, "ann\u2029lee": false, "\u00a0ann": false, "ann\u3000": false, "\u2003ann": false, "ann ": false, "\tann": false,
		"ann\ue000": false, "ann\U000f0000": false, "ann\u0378": false, "ann\uffff": false, "ann\U000e0041": false,
		"ann\u3164": false, "\u115fann": false, "ann\u2800": false, "ann\ufe0f": false, "a\u034fnn": false, "ann\x00": false, "ann\xff": false, "": false,
	} {
		if err := CheckUser(name); (err == nil) != good {
			t.Errorf("%+q: %v", name, err)
		}
	}
	if name, err := UserName(" \tann\t "); name != "ann" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
}
