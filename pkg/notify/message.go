package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// A message is an event in the structured mode of CloudEvents: the signature covers the body, so
// all attributes are in the body.
type message struct {
	id   string
	body []byte
}

const contentType = "application/cloudevents+json; charset=utf-8"

// A cloudEvent is an event of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion string     `json:"specversion"`
	ID          string     `json:"id"`
	Source      string     `json:"source"`
	Type        string     `json:"type"`
	Subject     string     `json:"subject"`
	Time        time.Time  `json:"time"`
	ContentType string     `json:"datacontenttype"`
	Data        task.Event `json:"data"`
}

// newMessage returns the message about an event. All attempts, of all leaders, have the same
// message.
func newMessage(s task.StoredEvent) (message, error) {
	e := s.Event
	id := fmt.Sprintf("%s-%d-%d", s.Log, e.ID.Seq, e.ID.N) // without the full stop, which separates the parts that are signed
	change := e.Status
	if e.Type != task.EventPhase {
		change = string(e.Type)
	}
	body, err := task.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: "/k8s-cli/" + s.Log, Type: "k8s-cli.task." + change, Subject: "tasks/" + e.TaskID,
		Time: e.Time, ContentType: "application/json", Data: e,
	})
	return message{id, body}, err
}

// Sign returns the signature of a message as Standard Webhooks defines it.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

const maxGone = 10_000 // tasks whose receivers responded with 410

// gone remembers the tasks whose notifications receivers no longer want. If it is full, a receiver
// may get one more event of a task, and respond with 410 again.
type gone struct {
	mu    sync.Mutex
	tasks map[string]bool
}

func (g *gone) add(receiver, task string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tasks == nil || len(g.tasks) >= maxGone {
		g.tasks = map[string]bool{}
	}
	g.tasks[receiver+task] = true
}

func (g *gone) has(receiver, task string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tasks[receiver+task]
}
