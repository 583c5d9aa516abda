import type { Definitions } from './definition.ts';

/** Errors of OpenAI's API. */
export const OPENAI = {
  UnknownModel: { kind: 'not-found', when: 'No model of `/v1/models` that can do this has the name.', data: ['param'] },
  InvalidParameter: {
    kind: 'bad-request',
    when: 'A parameter of a request below `/v1` is missing or wrong.',
    data: ['param?', 'code?'],
  },
  UnsupportedParameter: {
    kind: 'bad-request',
    when: 'A parameter of a request below `/v1` has no effect here.',
    data: ['param'],
  },
  ResponseNotFound: { kind: 'not-found', when: 'The user has no stored response with this id.', data: ['param'] },
  PreviousResponseNotFound: {
    kind: 'bad-request',
    when:
      'The user has no stored response with the id in `previous_response_id`, or one that it continues ' +
      'was removed.',
    data: ['param'],
  },
  StoredFileNotFound: {
    kind: 'not-found',
    when: 'The user has no file of `/v1/files` with this id, or it has expired.',
    data: ['param'],
  },
  FileInUse: { kind: 'conflict', when: 'A file that is the input of a batch which has not ended cannot be deleted.' },
  UploadNotFound: { kind: 'not-found', when: 'The user has no upload with this id.', data: ['param'] },
  UploadEnded: { kind: 'conflict', when: 'The upload is completed, cancelled or expired.' },
  TooManyParts: { kind: 'bad-request', when: 'The upload has as many parts as it may have.' },
  WrongParts: {
    kind: 'bad-request',
    when: 'The parts of an upload are not the file that was announced.',
    data: ['param'],
  },
  BatchNotFound: { kind: 'not-found', when: 'The user has no batch with this id.', data: ['param'] },
  BatchNotEnded: {
    kind: 'conflict',
    when: 'A batch of messages that has not ended has no results and cannot be deleted.',
  },
  BatchEnded: { kind: 'conflict', when: 'A batch that has ended cannot be cancelled.' },
  VectorStoreNotFound: { kind: 'not-found', when: 'The user has no vector store with this id.', data: ['param'] },
  VectorStoreFileNotFound: { kind: 'not-found', when: 'The vector store has no file with this id.', data: ['param'] },
  VectorStoreBatchNotFound: {
    kind: 'not-found',
    when: 'The vector store has no batch of files with this id.',
    data: ['param'],
  },
  VectorStoreExpired: { kind: 'conflict', when: 'A vector store that has expired is not searched, and gets no files.' },
  TooManyVectorStores: { kind: 'conflict', when: 'The user has as many vector stores as allowed.', data: ['limit'] },
  TooManyStoreFiles: { kind: 'conflict', when: 'The vector store has as many files as allowed.', data: ['limit'] },
  NoEmbeddingModel: {
    kind: 'unavailable',
    when: 'No deployment, or more than one, can make the vectors of vector stores.',
  },
} as const satisfies Definitions;
