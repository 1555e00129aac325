// Command s3server is rclone with one backend and one command: serve s3. The tests of buckets use
// it as their S3 server.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
