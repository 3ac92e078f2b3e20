# The image: one static program, and what it needs to trust others.
#
#	docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
# The version that the program tells, such as v0.1.0; the commit comes from .git.
ARG VERSION
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/dogear ./cmd/dogear
RUN echo 'dogear:x:65532:65532::/nonexistent:/sbin/nologin' >/out/passwd && \
    echo 'dogear:x:65532:' >/out/group

FROM scratch
LABEL org.opencontainers.image.title="Dogear" \
      org.opencontainers.image.description="Runs handlers on Kubernetes objects whose CRD you don't own" \
      org.opencontainers.image.source="https://github.com/dogear-dev/dogear" \
      org.opencontainers.image.documentation="https://github.com/dogear-dev/dogear/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/passwd /out/group /etc/
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/dogear /dogear
USER 65532:65532
ENTRYPOINT ["/dogear"]
