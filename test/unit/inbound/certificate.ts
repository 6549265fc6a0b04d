// A self-signed certificate for localhost and its key, only for tests, valid until 2126.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const certificate = `-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUCMDpVgAtpZOFdvzyT9LBBs1rmY4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwMTQxNloYDzIxMjYxMDI4
MTAxNDE2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATWM6cXvT5KnCNF9X2DJyt2+IatLNPsEwKcKgmfxCi3KK7qrRlGOikJ
3IjbyG+u3EHnZToGTMcGKHqZLtNb3kjro2kwZzAdBgNVHQ4EFgQUuyv9DPfeO6tX
UzVy0fpBdYvDeqEwHwYDVR0jBBgwFoAUuyv9DPfeO6tXUzVy0fpBdYvDeqEwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
RwAwRAIgdbL4Mw/9t7gkseSoFmDVZob7X11ce3DjPlx1erQK3cQCIGVYkKdsvbTS
EMedEk/MWuR4+aU51ie3OxTPGZVCZeCx
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRpTIGb9uHFu4C4FP
E4lo4xAnJJnJxQ7Z1fZ46DLQF4uhRANCAATWM6cXvT5KnCNF9X2DJyt2+IatLNPs
EwKcKgmfxCi3KK7qrRlGOikJ3IjbyG+u3EHnZToGTMcGKHqZLtNb3kjr
-----END PRIVATE KEY-----
`

/** Writes both to files, which are removed after the test. */
export function certificateFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-certificate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(files.cert, certificate)
  writeFileSync(files.key, key)
  return { files, certificate }
}
