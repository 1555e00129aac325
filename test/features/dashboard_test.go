package features

import (
	"testing"

	"k8s-cli/pkg/task"
)

// The list of the dashboard shows a task after the user has logged in, and follows the task
// by its events alone: without another load of the page or of the list.
func TestDashboardShowsATask(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "name: shown\n"+yaml("run", endless))
	ann.await(t, id, task.Running)

	p := openPage(t, ann.url+"/ui/")
	p.awaitText(t, "form", "Log in")
	// The page takes the name over when it renders, after the event.
	p.eval(t, `(() => {
		const field = document.querySelector("#login-user");
		field.value = "`+ann.name+`";
		field.dispatchEvent(new Event("input", { bubbles: true }));
	})()`)
	p.eval(t, `document.querySelector("form").requestSubmit()`)
	row := `.row[data-id="` + id + `"]`
	p.awaitText(t, row, "shown")
	p.awaitText(t, row, "running")
	p.awaitText(t, ".live", "Live") // later events reach the page by its stream
	p.eval(t, `(() => {
		const fetch = window.fetch;
		const isStream = (options) => new Headers(options?.headers).get("Accept") === "text/event-stream";
		window.fetch = (path, options) => isStream(options) ? fetch(path, options) : new Promise(() => {});
	})()`)
	ann.stop(t, id)
	p.awaitText(t, row, "stopped")
	if len(p.errors) > 0 {
		t.Errorf("the page has errors: %q", p.errors)
	}
}
