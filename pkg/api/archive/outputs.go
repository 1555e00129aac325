package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/problem"
)

// OutputPath is the path of the outputs of one node.
const OutputPath = "/tasks/:id/outputs/:rank"

// OutputConfig configures the outputs of a server. The zero OutputConfig disables outputs.
type OutputConfig struct {
	Store  Store
	Limit  int64        // largest archive of one node, in bytes
	Quota  int64        // largest size of all archives of a user, in bytes; 0 means no limit
	Tokens *seal.Sealer // nil means that the server has no key to verify tokens
}

// Check returns an error if tasks may not have outputs. advertise is the URL of the server for the
// pods of tasks.
func (c OutputConfig) Check(advertise string) error {
	switch {
	case c.Store == nil || advertise == "":
		return problem.New(problem.FeatureDisabled, "outputs: the server stores no outputs, because it has no --advertise-url by which pods reach it; write the files to a volume")
	case c.Tokens == nil:
		return problem.New(problem.FeatureDisabled, "outputs: the server stores no outputs, because it has no --secrets-key-file to authenticate pods; write the files to a volume")
	}
	return nil
}

// A Log appends facts about outputs.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	CheckCapacity() error
}

// An OutputHandler receives and sends the outputs of tasks.
type OutputHandler struct {
	OutputConfig
	Log      Log
	Viewer   *status.Viewer
	Incoming *slots.Pool
	Sender   Sender
	Receive  func(c *fiber.Ctx, slot *slots.Slot) io.Reader            // returns the body of a request
	ReadAs   func(c *fiber.Ctx, user, id string) (status.Read, string) // returns the user in whose name a request for a task is handled

	reports reports
}

// node returns the task and the node that a request names.
func node(c *fiber.Ctx) (id string, rank int, err error) {
	rank, err = strconv.Atoi(c.Params("rank"))
	if err != nil || rank < 0 || rank >= task.MaxNodes {
		return "", 0, problem.New(problem.Invalid, "rank: "+task.Quote(c.Params("rank"))+" is not the number of a node; the first node is 0")
	}
	return c.Params("id"), rank, nil
}

// Get sends the outputs of a node to the user of the task.
func (h *OutputHandler) Get(c *fiber.Ctx, user string) error {
	id, rank, err := node(c)
	if err != nil {
		return err
	}
	read, user := h.ReadAs(c, user, id)
	stored, err := read.Outputs(user, id, rank)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s-%d.tar.gz"`, id, rank))
	return h.Sender.Send(c, h.Store, Archive{
		User: user, Object: stored.Object, Sum: stored.Sum, Size: stored.Size,
		Lost: problem.New(problem.OutputsNotFound, fmt.Sprintf("the outputs of node %d of task %s are lost", rank, id)),
	})
}

// Put stores the archive in the body, which a node of a task sends. Only a part of the archive is in
// memory at a time. An empty body means that the node has no outputs.
func (h *OutputHandler) Put(c *fiber.Ctx) error {
	id, rank, err := node(c)
	if err != nil {
		return err
	}
	if err := h.authenticate(c, id, rank); err != nil {
		return err
	}
	r, used, err := h.Viewer.Read(c.UserContext()).OutputRecord(id)
	if err != nil {
		return err
	}
	if rank >= r.NumNodes() {
		return problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has no node %d", id, rank))
	}
	if r.Phase.Over() && time.Since(r.UpdatedAt) > outputs.Grace {
		return errOver
	}
	missing, err := outputs.Missing(r.Submit.Task.Outputs, c.Query("missing"))
	if err != nil {
		return problem.New(problem.Invalid, "missing: "+err.Error())
	}
	pod := c.Query("pod")
	if len(pod) > maxUID {
		return problem.New(problem.Invalid, "pod: "+task.Quote(pod)+" is not the UID of a pod")
	}
	if err := h.Log.CheckCapacity(); err != nil {
		return err
	}
	if !h.reports.allow(id, rank) {
		return errTooMany
	}
	s := &sending{h, r, rank, pod, missing}
	switch c.Query("failed") {
	case "":
		return s.receive(c, used)
	case "size":
		return s.fail(c.UserContext(), s.tooLarge())
	}
	return s.fail(c.UserContext(), errNotPacked)
}

var (
	errOver      = problem.New(problem.Conflict, "the task has ended, or the node has started again, and this pod can no longer send outputs")
	errTooMany   = problem.New(problem.LimitReached, "the node has sent its outputs many times; wait before it sends them again")
	errNotPacked = problem.New(problem.Invalid, "the node could not pack its outputs; the last lines of its log say why")
)

const maxUID = 64 // bytes of the UID of a pod

// Each report of a node appends a fact to the log, which all users share, and a task is not trusted.
const (
	reportBurst    = 10
	reportInterval = 10 * time.Second
)

// reports limits how often the nodes report their outputs to this pod of the server.
type reports struct {
	mu sync.Mutex
	of map[reporter]*rate.Limiter
}

type reporter struct {
	task string
	rank int
}

// allow reports whether a node may report its outputs now.
func (r *reports) allow(id string, rank int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	const many = 10_000
	if len(r.of) >= many {
		maps.DeleteFunc(r.of, func(_ reporter, l *rate.Limiter) bool { return l.Tokens() >= reportBurst })
	}
	if r.of == nil {
		r.of = map[reporter]*rate.Limiter{}
	}
	k := reporter{id, rank}
	if r.of[k] == nil {
		r.of[k] = rate.NewLimiter(rate.Every(reportInterval), reportBurst)
	}
	return r.of[k].Allow()
}

func (h *OutputHandler) authenticate(c *fiber.Ctx, id string, rank int) error {
	token, ok := strings.CutPrefix(c.Get(fiber.HeaderAuthorization), "Bearer ")
	switch {
	case !ok || h.Tokens == nil:
		return problem.New(problem.CredentialsMissing, "Authorization: the outputs of a node require the token of the node")
	case !h.Tokens.VerifyOutputToken(id, rank, token):
		return problem.New(problem.Forbidden, "Authorization: the token is not the token of this node")
	}
	return nil
}

// A sending is one archive that a node sends.
type sending struct {
	*OutputHandler
	task    *task.Record
	rank    int
	pod     string // UID, "" if the node does not say it
	missing []string
}

// receive stores the body. used is the size of the stored outputs of the user.
func (s *sending) receive(c *fiber.Ctx, used int64) error {
	ctx, user, length := c.UserContext(), s.task.Submit.User, int64(c.Request().Header.ContentLength())
	if length == 0 {
		if before := outputs.Of(s.task.Outputs, s.rank); before.Object == "" && before.Error == "" && before.Missing != nil && slices.Equal(before.Missing, s.missing) {
			return c.JSON(outputs.Output{Node: s.rank, Missing: s.missing}) // the log says so already
		}
		return s.append(c, outputs.Archive{Missing: s.missing})
	}
	left := int64(-1) // -1 means no limit
	if s.Quota > 0 {
		left = max(s.Quota-used+outputs.Of(s.task.Outputs, s.rank).Size, 0)
	}
	switch {
	case length > s.Limit:
		return s.fail(ctx, s.tooLarge())
	case left >= 0 && length > left:
		err := s.fail(ctx, s.overQuota())
		s.discard(c, user)
		return err
	}
	slot, err := s.Incoming.Take(s.Sender.Closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	body := newBody(s.Receive(c, slot), s.Limit, s.tooLarge())
	if left >= 0 && left < s.Limit {
		body.limit, body.tooLarge = left, s.overQuota()
	}
	object := fmt.Sprintf("%s/%s/%d/%s", task.Owner(user), s.task.Submit.ID, s.rank, rand.Text())
	size, err := s.Store.Store(ctx, object, body)
	switch {
	case err != nil && (body.exceeded || errors.Is(err, problem.Unavailable)): // the node retries if the store is full or unavailable
		return s.fail(ctx, err)
	case err != nil:
		return err
	}
	return s.append(c, outputs.Archive{Object: object, Size: size, Sum: body.sum(), Missing: s.missing})
}

// discard reads the body. Many programs cannot read a response that begins before they have sent
// the whole body: they would send the archive again.
func (s *sending) discard(c *fiber.Ctx, user string) {
	slot, err := s.Incoming.Take(s.Sender.Closing, user)
	if err != nil {
		return
	}
	defer slot.Release()
	_, _ = io.Copy(io.Discard, io.LimitReader(s.Receive(c, slot), s.Limit))
}

func (s *sending) tooLarge() error {
	return problem.New(problem.TooLarge, fmt.Sprintf("the packed outputs of the node are larger than %s, the limit of this server (--max-outputs); leave out files, or write them to a volume", task.SizeText(s.Limit)))
}

func (s *sending) overQuota() error {
	return problem.New(problem.Forbidden, fmt.Sprintf("with the outputs of the node, all your outputs would exceed %s, the limit per user (--max-user-outputs); the server frees the outputs of tasks that leave the history", task.SizeText(s.Quota)))
}

// append records a stored archive, and responds.
func (s *sending) append(c *fiber.Ctx, a outputs.Archive) error {
	result, err := s.Log.Append(c.UserContext(), task.Command{OutputsStored: &outputs.Stored{ID: s.task.Submit.ID, Rank: s.rank, Pod: s.pod, Archive: a, Quota: s.Quota}})
	switch {
	case err != nil:
		return err
	case result.Rejection == task.RejectedTooMany:
		return s.fail(c.UserContext(), s.overQuota())
	case result.Rejection != "":
		return errOver
	}
	return c.JSON(outputs.Output{Node: s.rank, Size: a.Size, Sum: a.Sum, Missing: a.Missing})
}

// fail records why the outputs are not stored, for the status of the task, and returns why.
func (s *sending) fail(ctx context.Context, why error) error {
	if outputs.Of(s.task.Outputs, s.rank).Error == why.Error() {
		return why
	}
	// If the log is unavailable, the log of the node still says why.
	_, _ = s.Log.Append(ctx, task.Command{OutputsStored: &outputs.Stored{ID: s.task.Submit.ID, Rank: s.rank, Pod: s.pod, Archive: outputs.Archive{Missing: s.missing}, Error: why.Error()}})
	return why
}
