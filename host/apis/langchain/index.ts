// The entry point `aana-host/langchain`: deployments and collections as classes of LangChain.js.
export { ChatAana, type ChatAanaCallOptions, type ChatAanaFields } from './chat-model.ts';
export { AanaEmbeddings, type AanaEmbeddingsFields } from './embeddings.ts';
export { AanaRetriever, type AanaRetrieverFields } from './retriever.ts';
export { AanaVectorStore, type AanaVectorStoreFields } from './vector-store.ts';
