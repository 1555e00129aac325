# The server's image, for those who have a container engine. `make image` builds the
# same without one.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -buildid=" -o /k8s-cli-server ./cmd/k8s-cli-server

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=devel REVISION=
LABEL org.opencontainers.image.title=k8s-cli-server \
      org.opencontainers.image.description="Runs SkyPilot-style tasks on Kubernetes" \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
COPY --from=build /k8s-cli-server /k8s-cli-server
USER 65532:65532
EXPOSE 8000
ENTRYPOINT ["/k8s-cli-server"]
