# Dripline's API and worker in one image; what runs is chosen by the command (see docker-compose.yml).
# Debian, not Alpine: the native part of the Temporal SDK needs glibc.
# Node 24 is the newest line with a release that calls itself LTS (process.release.lts: Krypton, until April 2028).
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

# Packages for production; of the SDK's five native binaries only this machine's kind stays.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && cd node_modules/@temporalio/core-bridge \
  && find releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} + \
  && rm -rf sdk-core src bridge-macros Cargo.lock Cargo.toml

FROM node:24-bookworm-slim
# The Temporal SDK checks TLS certificates against the system's. A process 1 cannot end itself by SIGKILL, as a worker does
# whose main thread hangs: tini is process 1.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates libjemalloc2 tini \
  && rm -rf /var/lib/apt/lists/*
# glibc's malloc keeps much of what large mail took, also with lower MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_: small things
# lie between the large ones, and it gives little of such a heap back. jemalloc gives it back some five seconds after it is free. The
# library has no folder here, so that the loader finds it on amd64 and on arm64.
ENV LD_PRELOAD=libjemalloc.so.2 \
  MALLOC_CONF=background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,narenas:4
ENV NODE_ENV=production HOST=0.0.0.0 WORKER_STATE_DIR=/var/lib/dripline
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/dripline
WORKDIR /app
COPY package.json ./
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000 9463 9464
ENTRYPOINT ["tini", "--"]
CMD ["node", "--enable-source-maps", "dist/api/main.js"]
