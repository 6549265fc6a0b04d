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

/** Another self-signed certificate for localhost and its key, valid until 2126. */
export const anotherCertificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUYVBZuLdtkK0dVFsXZ1r+7C5G3bAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjE5MjczMVoYDzIxMjYxMDI5
MTkyNzMxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASsRgjGGnEqYY6b2KxRlVd79aC3BFYFlCxaxrbV+YFIn6k09wsMoiy1
qkqin29ll3qpEqJnPJN1m1jyMi4NWtCLo2kwZzAdBgNVHQ4EFgQUxNM7cCUmrYd+
VoT8plYv59OgUVcwHwYDVR0jBBgwFoAUxNM7cCUmrYd+VoT8plYv59OgUVcwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
RwAwRAIgMuXB4OSV17LfJc1hyVwlNlBb0rNBgTI9yWNXYbH74RYCIBIQnI6Y8dBM
rXFBT4J/WtDDOW0tZCA6mBKd3hv6YIDj
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQglldtNGQb3tbBdJGc
elnFx2Sq5IhIRUrCmeiRb26n322hRANCAASsRgjGGnEqYY6b2KxRlVd79aC3BFYF
lCxaxrbV+YFIn6k09wsMoiy1qkqin29ll3qpEqJnPJN1m1jyMi4NWtCL
-----END PRIVATE KEY-----
`,
}
