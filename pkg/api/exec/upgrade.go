package exec

import (
	"encoding/base64"
	"strings"
	"sync"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task/problem"
)

const (
	versionHeader  = "Sec-WebSocket-Version"
	keyHeader      = "Sec-WebSocket-Key"
	protocolHeader = "Sec-WebSocket-Protocol"
	version        = "13" // RFC 6455
	keyBytes       = 16
)

var upgrader = websocket.FastHTTPUpgrader{
	ReadBufferSize: 4 << 10, WriteBufferSize: exec.MaxData + 16, // one message fits
	Subprotocols: []string{exec.Protocol},
	CheckOrigin:  func(*fasthttp.RequestCtx) bool { return true }, // Identify has checked the origin
}

var (
	errUpgrade   = problem.New(problem.UpgradeRequired, "this route needs a WebSocket; send GET with Upgrade: websocket and "+versionHeader+": "+version)
	errProtocol  = problem.New(problem.UpgradeRequired, protocolHeader+": this server supports "+exec.Protocol)
	errHandshake = problem.New(problem.Malformed, "the WebSocket handshake is invalid; send each of its headers once, and no body (RFC 6455)")
	errStopping  = problem.New(problem.Starting, "this pod of the server is stopping; try again")
)

// checkUpgrade returns an error unless the request is the handshake of a WebSocket that every
// proxy in front of the server understands in the same way.
func checkUpgrade(c *fiber.Ctx) error {
	head := &c.Request().Header
	if !head.IsGet() || !head.IsHTTP11() || !websocket.FastHTTPIsWebSocketUpgrade(c.Context()) || string(head.Peek(versionHeader)) != version {
		c.Set(fiber.HeaderUpgrade, "websocket")
		c.Set(versionHeader, version)
		return errUpgrade
	}
	for _, name := range []string{fiber.HeaderUpgrade, versionHeader, keyHeader, protocolHeader} {
		if len(head.PeekAll(name)) > 1 {
			return errHandshake
		}
	}
	key, err := base64.StdEncoding.Strict().DecodeString(string(head.Peek(keyHeader)))
	if err != nil || len(key) != keyBytes || head.ContentLength() > 0 || len(head.Peek(fiber.HeaderTransferEncoding)) > 0 {
		return errHandshake
	}
	for offered := range strings.SplitSeq(string(head.Peek(protocolHeader)), ",") {
		if strings.TrimSpace(offered) == exec.Protocol {
			return nil
		}
	}
	return errProtocol
}

// upgrade answers the handshake, and lets the session run on the connection.
func (h *Handler) upgrade(c *fiber.Ctx, s *session) error {
	if !h.open.begin() {
		return errStopping
	}
	conn := c.Context().Conn()
	ctx, closed := s.caller.Session(h.Closing)
	s.ctx = ctx
	end := sync.OnceFunc(func() {
		closed()
		s.slot.Release()
		h.open.group.Done()
	})
	framing.OnClose(conn, end)
	err := upgrader.Upgrade(c.Context(), func(ws *websocket.Conn) {
		defer end()
		framing.Release(conn)
		s.run(ws)
	})
	if err != nil {
		end()
		return errHandshake
	}
	return nil
}
