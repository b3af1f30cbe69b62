# The image of Holdfast, for those who have a container engine. `make image` makes it without one.
# What is in the image is said in hack/image/product; this file only puts it there.
ARG GO_VERSION=1.26.8

FROM --platform=$BUILDPLATFORM docker.io/library/golang:${GO_VERSION} AS build
ARG TARGETARCH
ARG VERSION=
ENV GOTOOLCHAIN=local
WORKDIR /src
COPY . .
RUN go -C hack/image run . -root=/image -arch="${TARGETARCH}" -version="${VERSION}"

FROM scratch
LABEL org.opencontainers.image.title="holdfast"
LABEL org.opencontainers.image.description="Edits made in a cluster reach Git under their author, and Flux applies one known commit at a time"
LABEL org.opencontainers.image.source="https://github.com/holdfast-gitops/holdfast"
LABEL org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/ /
WORKDIR /
USER 65532:65532
